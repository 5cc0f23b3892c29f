import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';

interface Notified {
  readonly id: string;
}

export interface NotificationFaults {
  readonly lost?: boolean;
  readonly times?: number;
  readonly delayMs?: number;
  /** Whether the payment is paid and its notification sent before the response to the create request. */
  readonly beforeCreationResponds?: boolean;
}

const TIMEOUT_MS = 30_000;
/** The real provider retries for a day. */
const ATTEMPTS = 3;
const RETRY_AFTER_MS = 500;

export class PaymentNotifier {
  url: string | undefined;
  private faults: NotificationFaults = {};
  private readonly end = new AbortController();

  constructor() {
    setMaxListeners(0, this.end.signal);
  }

  close(): void {
    this.end.abort();
  }

  goWrong(faults: NotificationFaults): void {
    this.faults = faults;
  }

  send(event: string, object: Notified): void {
    const { lost = false, times = 1, delayMs = 0 } = this.faults;
    if (lost) return;
    for (let n = 0; n < times; n += 1) void this.deliver(event, object, delayMs);
  }

  forge(object: object, event = 'payment.succeeded'): Promise<number | undefined> {
    return this.post({ type: 'notification', event, object });
  }

  async beforeResponse(payment: Notified, pay: (id: string) => void): Promise<void> {
    if (this.faults.beforeCreationResponds !== true) return;
    pay(payment.id);
    await pause(200);
  }

  private async deliver(event: string, object: Notified, delayMs: number): Promise<void> {
    try {
      await pause(delayMs, undefined, { signal: this.end.signal });
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        if ((await this.post({ type: 'notification', event, object })) === 200) return;
        await pause(RETRY_AFTER_MS, undefined, { signal: this.end.signal });
      }
    } catch {
      // Closing the sandbox aborts its notifications.
    }
  }

  private async post(body: object): Promise<number | undefined> {
    if (this.url === undefined) return undefined;
    try {
      const { status } = await fetch(this.url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), this.end.signal]),
      });
      return status;
    } catch {
      return undefined;
    }
  }
}
