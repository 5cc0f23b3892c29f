import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { networksOf, plainAddress, Turns } from '../common';
import { RequestInvalid } from './validation/refusal';

/** Reading a body of this size takes about a tenth of a millisecond. */
const LARGE_BODY_BYTES = 4096;
/** For this many times as long as a large body took, only other requests run. 95 kB may take 10 ms. */
const REST_TIMES = 3;

/** Large bodies are read one after the other, so that other requests run in between. */
@Injectable()
export class LargeBodies {
  private readonly turns = new Turns<number | string>(1, 1);
  private restUntilMs = 0;

  /** Reads a small body at once, and a large one in the turn of its caller. */
  read<Read>(request: Request, { length }: Buffer, read: () => Read): Read | Promise<Read> {
    if (length < LARGE_BODY_BYTES) return read();
    return this.turns.run(callersOf(request)[0], () => this.afterRest(read));
  }

  private async afterRest<Read>(read: () => Read): Promise<Read> {
    await pause(Math.max(0, this.restUntilMs - performance.now()));
    const startedAtMs = performance.now();
    try {
      return read();
    } catch (error) {
      if (error instanceof RequestInvalid) error.write();
      throw error;
    } finally {
      const nowMs = performance.now();
      this.restUntilMs = nowMs + REST_TIMES * (nowMs - startedAtMs);
    }
  }
}

/** The user, if the route has one, and the networks of the client. */
export function callersOf(request: Request): [number | string, ...string[]] {
  const { user, ip } = request as Request & { readonly user?: { readonly userId: number } };
  const networks = networksOf(plainAddress(ip));
  return [user?.userId ?? networks.join(), ...networks];
}
