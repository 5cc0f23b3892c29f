import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import type { Request } from 'express';
import { AppConfig } from '../config';
import { isSpecified } from './errors/specified-routes';
import { callersOf, LargeBodies } from './large-bodies';
import {
  BodyTooLarge,
  ContentEncodingUnsupported,
  MAX_BODY_BYTES,
  parseBody,
  receiveBody,
} from './request-body';
import { routeTemplate } from './request-metrics';
import { RequestsUnderWay } from './under-way';
import { readInput } from './validation/read-input';
import { type RouteInput, routeInput } from './validation/route-input';

const MOST = 'max-body-bytes';
const UNPARSED = 'unparsed-body';
const ANY_ENCODING = 'any-content-encoding';

const received = new WeakMap<Request, Buffer>();

/** Returns the exact bytes, for checking a signature. */
export const receivedBytes = (request: Request): Buffer => received.get(request) ?? Buffer.alloc(0);

/** Marks a handler that parses `receivedBytes` itself. They are empty if the body was too large. */
export const UnparsedBody = () => SetMetadata(UNPARSED, true);

export const AnyContentEncoding = () => SetMetadata(ANY_ENCODING, true);

export const MaxBodyBytes = (bytes: number) => SetMetadata(MOST, bytes);

/**
 * Reads path, query, headers and body together, so that a 422 response lists all mistakes. Must be the last
 * guard, so that nothing is read for a caller without access.
 */
@Injectable()
export class RequestInputGuard implements CanActivate {
  constructor(
    private readonly underWay: RequestsUnderWay,
    private readonly large: LargeBodies,
    private readonly config: AppConfig,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const input = routeInput(context.getClass(), context.getHandler());
    if (request.method === 'GET' || request.method === 'HEAD') {
      if (input) readInput(input, request);
      return true;
    }
    const most = Reflect.getMetadata(MOST, context.getHandler()) as number | undefined;
    const isEncoded =
      !/^(identity)?$/i.test(request.headers['content-encoding'] ?? '') &&
      Reflect.getMetadata(ANY_ENCODING, context.getHandler()) !== true &&
      !isSpecified(`${request.method} ${routeTemplate(request)}`);
    const isUnparsed = Reflect.getMetadata(UNPARSED, context.getHandler()) === true;
    return this.readBody(request, most ?? MAX_BODY_BYTES, isUnparsed ? 'unparsed' : input, isEncoded);
  }

  private async readBody(
    request: Request,
    maxBytes: number,
    input: RouteInput | null | 'unparsed',
    isEncoded: boolean,
  ) {
    const bytes = await receiveBody(request, maxBytes, {
      enter: () => this.underWay.enter('body', ...callersOf(request)),
      stallMs: this.config.tuning.bodyStallMs,
    }).catch((error: unknown) => {
      if (input === 'unparsed' && error instanceof BodyTooLarge) return Buffer.alloc(0);
      throw error;
    });
    if (isEncoded && bytes.length > 0) throw new ContentEncodingUnsupported();
    received.set(request, bytes);
    if (input === 'unparsed') return true;
    await this.large.read(request, bytes, () => {
      // As in FastAPI, if the body is not JSON, only that error is reported.
      request.body = parseBody(bytes, request.headers['content-type']);
      if (input) readInput(input, request);
    });
    return true;
  }
}
