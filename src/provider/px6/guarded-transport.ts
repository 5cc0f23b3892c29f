import http from 'node:http';
import https from 'node:https';
import type { Deadline } from '../deadline';

/**
 * A transport for axios that knows whether any byte of the request can have left the machine, and lets none leave late.
 *
 * The deadline is looked at in the last moment before the request is written: a process that was stopped between its decision to
 * buy and its socket must not buy when it goes on. Works with agents that hand over connected sockets only.
 */
export class GuardedTransport {
  private written = false;

  constructor(private readonly deadline: Deadline) {}

  /** False as long as it is certain that no byte of the request was written. */
  mayHaveSent(): boolean {
    return this.written;
  }

  readonly request = (
    options: https.RequestOptions,
    onResponse: (response: http.IncomingMessage) => void,
  ): http.ClientRequest => {
    const call = (options.protocol === 'https:' ? https : http).request(options, onResponse);
    // Node announces the socket, then writes the request to it, both in one tick.
    call.once('socket', () => {
      if (this.deadline.hasPassed())
        call.destroy(new Error('the deadline passed before the request was written'));
      else this.written = true;
    });
    return call;
  };
}
