import { setTimeout as pause } from 'node:timers/promises';
import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import type { Request } from 'express';
import { networksOf, plainAddress, Turns } from '../common';
import { AppConfig } from '../config';
import { BodyTooLarge, MAX_BODY_BYTES, parseBody, receiveBody } from './request-body';
import { RequestsUnderWay } from './under-way';
import { readInput } from './validation/read-input';
import { type RouteInput, routeInput } from './validation/route-input';

const MOST = 'max-body-bytes';
const UNPARSED = 'unparsed-body';

/** The bodies of requests that are being served. */
const received = new WeakMap<Request, Buffer>();

/** The body as it was sent: a signature is about these bytes. */
export const receivedBytes = (request: Request): Buffer => received.get(request) ?? Buffer.alloc(0);

/** The handler reads `receivedBytes` itself: none if there were too many. */
export const UnparsedBody = () => SetMetadata(UNPARSED, true);

export const MaxBodyBytes = (bytes: number) => SetMetadata(MOST, bytes);

/** Reading a body of this size takes about a tenth of a millisecond. */
const LARGE_BODY_BYTES = 4096;
/** For this many times as long as a large body took, only other requests run. 95 kB may take 10 ms. */
const REST_TIMES = 3;

/**
 * Receives the body, and reads path, query, headers and body together, so that a 422 response lists all
 * mistakes; a pipe sees only one place. It has to be the last guard: a caller without access is refused
 * before anything is read. An interceptor would cost every request without a body as much as its token
 * lookup.
 */
@Injectable()
export class RequestInputGuard implements CanActivate {
  /** Large bodies are read one after the other, so that other requests run in between. */
  private readonly large = new Turns<number | string>(1, 1);
  private restUntilMs = 0;

  constructor(
    private readonly underWay: RequestsUnderWay,
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
    const isUnparsed = Reflect.getMetadata(UNPARSED, context.getHandler()) === true;
    return this.readBody(request, most ?? MAX_BODY_BYTES, isUnparsed ? 'unparsed' : input);
  }

  private async readBody(request: Request, maxBytes: number, input: RouteInput | null | 'unparsed') {
    const bytes = await receiveBody(request, maxBytes, {
      enter: () => this.underWay.enter('body', ...callersOf(request)),
      stallMs: this.config.tuning.bodyStallMs,
    }).catch((error: unknown) => {
      if (input === 'unparsed' && error instanceof BodyTooLarge) return Buffer.alloc(0);
      throw error;
    });
    received.set(request, bytes);
    if (input === 'unparsed') return true;
    const read = (): void => {
      // As in FastAPI, a body that is not JSON is the only mistake listed.
      request.body = parseBody(bytes, request.headers['content-type']);
      if (input) readInput(input, request);
    };
    if (bytes.length < LARGE_BODY_BYTES) read();
    else await this.large.run(callersOf(request)[0], () => this.afterRest(read));
    return true;
  }

  private async afterRest(read: () => void): Promise<void> {
    await pause(Math.max(0, this.restUntilMs - performance.now()));
    const startedAtMs = performance.now();
    try {
      read();
    } finally {
      const nowMs = performance.now();
      this.restUntilMs = nowMs + REST_TIMES * (nowMs - startedAtMs);
    }
  }
}

/** The user, if the route has one, and the networks of the client. */
function callersOf(request: Request): [number | string, ...string[]] {
  const { user, ip } = request as Request & { readonly user?: { readonly userId: number } };
  const networks = networksOf(plainAddress(ip));
  return [user?.userId ?? networks.join(), ...networks];
}
