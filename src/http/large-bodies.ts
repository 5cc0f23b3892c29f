import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { networksOf, plainAddress, ConcurrencyLimit } from '../common';
import { RequestInvalid } from './validation/input-mistake';

/** Reading a body of this size takes about 0.1 ms. */
const LARGE_BODY_BYTES = 4096;
/** Pause after a large body, as a multiple of the time it took to read. */
const REST_TIMES = 3;

/** Reads large bodies one after the other, with pauses in which other requests run. */
@Injectable()
export class LargeBodies {
  private readonly turns = new ConcurrencyLimit<number | string>(1, 1);
  private restUntilMs = 0;

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

/**
 * Returns the keys under which a client's bodies are counted: first the user id (without a user, all of the
 * client's networks as one key), then each network.
 */
export function callersOf(request: Request): [number | string, ...string[]] {
  const { user, ip } = request as Request & { readonly user?: { readonly userId: number } };
  const networks = networksOf(plainAddress(ip));
  return [user?.userId ?? networks.join(), ...networks];
}
