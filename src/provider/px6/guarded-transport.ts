import http from 'node:http';
import https from 'node:https';
import type { Deadline } from '../deadline';
import type { RatePermit } from '../proxy-provider';

/**
 * A transport for axios that records whether any byte of the request may have been sent. Checks the deadline
 * and the permit right before it writes, because a process that was suspended after deciding to buy must not
 * buy when it resumes. Requires requests without a body, and agents that provide connected sockets.
 */
export class GuardedTransport {
  private written = false;
  private isWaitingForPermit = false;

  constructor(
    private readonly deadline: Deadline,
    private permit: RatePermit,
    private readonly nextPermit: () => Promise<RatePermit>,
  ) {}

  /** Returns false while it is certain that no byte of the request was written. */
  mayHaveSent(): boolean {
    return this.written;
  }

  lacksPermit(): boolean {
    return this.isWaitingForPermit;
  }

  readonly request = (
    options: https.RequestOptions,
    onResponse: (response: http.IncomingMessage) => void,
  ): http.ClientRequest => {
    const call = (options.protocol === 'https:' ? https : http).request(options, onResponse);
    // Without a body, end() writes the whole request. Postpone it until a socket and a permit are available.
    const write = call.end.bind(call);
    call.end = () => call;
    call.once('socket', () => void this.writeWithPermit(call, write));
    return call;
  };

  givePermitBack(): Promise<void> {
    return this.permit.giveBack();
  }

  /** No other code runs between the last check and the first byte. */
  private async writeWithPermit(call: http.ClientRequest, write: () => void): Promise<void> {
    try {
      while (this.permit.until.hasPassed() && !this.deadline.hasPassed()) {
        this.isWaitingForPermit = true;
        await this.permit.giveBack();
        this.permit = await this.nextPermit();
        this.isWaitingForPermit = false;
      }
      if (this.deadline.hasPassed()) throw new Error('the deadline passed before the request was written');
      // The call may have ended while it waited for the permit.
      if (call.destroyed) return void this.permit.giveBack();
      this.written = true;
      write();
    } catch (error) {
      call.destroy(error as Error);
    }
  }
}
