import http from 'node:http';
import https from 'node:https';
import type { Deadline } from '../deadline';
import type { RatePermit } from '../proxy-provider';

/**
 * A transport for axios that records whether any byte of the request may have left the machine, and prevents
 * late writes.
 *
 * Deadline and permit are checked right before the request is written: a process that was suspended after it
 * decided to buy must not buy when it resumes, and a permit must not be used after it expired while the call
 * was connecting. It works only for requests without a body, and with agents that hand over connected
 * sockets. (axios has no hook at this point.)
 */
export class GuardedTransport {
  private written = false;
  private isWaitingForPermit = false;

  /** @param nextPermit waits for another permit when the first has expired */
  constructor(
    private readonly deadline: Deadline,
    private permit: RatePermit,
    private readonly nextPermit: () => Promise<RatePermit>,
  ) {}

  /** False while it is certain that no byte of the request was written. */
  mayHaveSent(): boolean {
    return this.written;
  }

  /** Whether the call failed because there was no permit in time. */
  lacksPermit(): boolean {
    return this.isWaitingForPermit;
  }

  readonly request = (
    options: https.RequestOptions,
    onResponse: (response: http.IncomingMessage) => void,
  ): http.ClientRequest => {
    const call = (options.protocol === 'https:' ? https : http).request(options, onResponse);
    // The end() of a request without a body writes all of it, and is postponed until there are a socket and a
    // permit.
    const write = call.end.bind(call);
    call.end = () => call;
    call.once('socket', () => void this.writeWithPermit(call, write));
    return call;
  };

  /** Returns the permit for another call, when nothing was written. */
  givePermitBack(): Promise<void> {
    return this.permit.giveBack();
  }

  /** No other code runs between the last check of deadline and permit and the first byte. */
  private async writeWithPermit(call: http.ClientRequest, write: () => void): Promise<void> {
    try {
      while (this.permit.until.hasPassed() && !this.deadline.hasPassed()) {
        this.isWaitingForPermit = true;
        await this.permit.giveBack();
        this.permit = await this.nextPermit();
        this.isWaitingForPermit = false;
      }
      if (this.deadline.hasPassed()) throw new Error('the deadline passed before the request was written');
      // A permit may come after the call has ended.
      if (call.destroyed) return void this.permit.giveBack();
      this.written = true;
      write();
    } catch (error) {
      call.destroy(error as Error);
    }
  }
}
