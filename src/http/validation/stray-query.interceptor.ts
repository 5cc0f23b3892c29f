import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Request } from 'express';
import type { Observable } from 'rxjs';
import { boundedMistakes } from './bounded-mistakes';
import { RefusedItems } from './refusal';
import { RequestInvalid } from './request-invalid';
import { unknownField } from './strict-request';

/** Nest's own metadata on what a handler takes: keys are the kind of a parameter and its position. */
const ROUTE_ARGUMENTS = '__routeArguments__';
const QUERY = 4;

/** Refuses a query that a route without query parameters would ignore, e.g. `?preview=true` on a change. */
@Injectable()
export class StrayQueryInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const query = context.switchToHttp().getRequest<Request>().query as Readonly<Record<string, string>>;
    const given = Object.entries(query);
    if (given.length > 0 && !takesQuery(context)) {
      const strays = new RefusedItems(given.map(([name, value]) => [name, unknownField(value)]));
      throw new RequestInvalid(boundedMistakes(strays.at('query'), strays.count, 'query'));
    }
    return next.handle();
  }
}

function takesQuery(context: ExecutionContext): boolean {
  const taken = Reflect.getMetadata(ROUTE_ARGUMENTS, context.getClass(), context.getHandler().name) as object;
  return Object.keys(taken ?? {}).some((key) => key.startsWith(`${QUERY}:`));
}
