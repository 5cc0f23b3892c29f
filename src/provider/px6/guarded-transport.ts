import http from 'node:http';
import https from 'node:https';
import type { Deadline } from '../deadline';
import type { RatePermit } from '../proxy-provider';

/**
 * A transport for axios that knows whether any byte of the request can have left the machine, and lets none leave late.
 *
 * Deadline and permit are looked at in the last moment before the request is written: a process that was stopped between its decision
 * to buy and its socket must not buy when it goes on, and a permit is not for calls that had to connect first for longer than it lasts.
 * For requests without a body, and agents that hand over connected sockets only.
 */
export class GuardedTransport {
  private written = false;
  private waitsForTurn = false;

  /** @param nextPermit waits for another one when the first has passed */
  constructor(
    private readonly deadline: Deadline,
    private permit: RatePermit,
    private readonly nextPermit: () => Promise<RatePermit>,
  ) {}

  /** False as long as it is certain that no byte of the request was written. */
  mayHaveSent(): boolean {
    return this.written;
  }

  /** Whether the call came to nothing for want of a permit. */
  lacksTurn(): boolean {
    return this.waitsForTurn;
  }

  readonly request = (
    options: https.RequestOptions,
    onResponse: (response: http.IncomingMessage) => void,
  ): http.ClientRequest => {
    const call = (options.protocol === 'https:' ? https : http).request(options, onResponse);
    // Nothing of a request without a body is written before its end: that is left until socket and permit are there.
    const write = call.end.bind(call);
    call.end = () => call;
    call.once('socket', () => void this.writeInTurn(call, write));
    return call;
  };

  /** When nothing was written: the place in the rate is free for another call. */
  async giveTurnBack(): Promise<void> {
    await this.permit.giveBack();
  }

  /** Between the last look at deadline and permit and the first byte no other code runs. */
  private async writeInTurn(call: http.ClientRequest, write: () => void): Promise<void> {
    try {
      while (this.permit.until.hasPassed() && !this.deadline.hasPassed()) {
        this.waitsForTurn = true;
        await this.permit.giveBack();
        this.permit = await this.nextPermit();
        this.waitsForTurn = false;
      }
      if (this.deadline.hasPassed()) throw new Error('the deadline passed before the request was written');
      if (call.destroyed) return;
      this.written = true;
      write();
    } catch (error) {
      call.destroy(error as Error);
    }
  }
}
