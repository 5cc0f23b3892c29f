import type { ServerResponse } from 'node:http';

/** Some HTTP clients close a response whose body is silent for five minutes. */
const HEARTBEAT_MS = 60_000;

/** The users of the sandbox. Each keeps a connection open, which the kernel closes if the user is killed. */
export class Leases {
  private readonly held = new Set<ServerResponse>();
  private readonly firstLeaseTimer: NodeJS.Timeout;
  private readonly heartbeat: NodeJS.Timeout;
  private isEnding = false;

  /** @param onUnused called once, when the last lease has ended or none was taken in time. */
  constructor(
    private onUnused: (() => void) | undefined,
    firstLeaseWithinMs: number,
  ) {
    this.firstLeaseTimer = setTimeout(() => this.endUse(), firstLeaseWithinMs);
    this.heartbeat = setInterval(() => {
      for (const response of this.held) response.write('\n');
    }, HEARTBEAT_MS).unref();
  }

  /**
   * Refused after the last lease has ended, because the sandbox is exiting: the caller must start a new one.
   */
  grant(response: ServerResponse): void {
    if (this.isEnding) {
      response.writeHead(503).end();
      return;
    }
    clearTimeout(this.firstLeaseTimer);
    this.held.add(response);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"leased":true}\n');
    response.once('close', () => {
      this.held.delete(response);
      if (this.held.size === 0) this.endUse();
    });
  }

  close(): void {
    this.onUnused = undefined;
    clearTimeout(this.firstLeaseTimer);
    clearInterval(this.heartbeat);
    for (const response of this.held) response.end();
  }

  private endUse(): void {
    const { onUnused } = this;
    if (!onUnused) return;
    this.onUnused = undefined;
    this.isEnding = true;
    onUnused();
  }
}
