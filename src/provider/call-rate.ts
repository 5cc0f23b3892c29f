import { ProviderUnavailable } from './provider-errors';

/** Between two calls of this process and their arrival at the provider the distance may shrink by this much. */
const JITTER_MS = 100;

/** Who goes first when calls wait: customers' orders, then finding out what became of orders, then the rest. */
const PRIORITIES = ['order', 'confirmation', 'rest'] as const;

export type CallPriority = (typeof PRIORITIES)[number];

/** While orders wait, one call in so many goes to confirmations: no more, and no fewer. */
const CONFIRMATION_SHARE = 3;

/**
 * At most so many calls in any window of time: by priority, and in order of arrival within one.
 * Counts the calls of this process only.
 */
export class CallRate {
  private readonly starts: number[] = [];
  private readonly waiting: Record<CallPriority, (() => void)[]> = { order: [], confirmation: [], rest: [] };
  private ordersInARow = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly calls: number,
    private readonly windowMs: number,
  ) {}

  /** @throws ProviderUnavailable when no place comes free in time */
  waitForTurn(priority: CallPriority, maxWaitMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = this.waiting[priority];
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(admit), 1);
        reject(new ProviderUnavailable('no place in the rate of calls came free in time'));
      }, maxWaitMs);
      const admit = () => {
        clearTimeout(timer);
        resolve();
      };
      queue.push(admit);
      this.admitWhileFree();
    });
  }

  private admitWhileFree(): void {
    if (this.timer) return;
    for (let next = this.nextQueue(); next; next = this.nextQueue()) {
      const freeInMs = this.freeInMs();
      if (freeInMs > 0) {
        this.timer = setTimeout(() => {
          this.timer = undefined;
          this.admitWhileFree();
        }, Math.ceil(freeInMs));
        return;
      }
      this.starts.push(performance.now());
      if (this.starts.length > this.calls) this.starts.shift();
      this.ordersInARow = next === 'order' ? this.ordersInARow + 1 : 0;
      this.waiting[next].shift()?.();
    }
  }

  private nextQueue(): CallPriority | undefined {
    const confirmationsTurn =
      this.ordersInARow >= CONFIRMATION_SHARE - 1 && this.waiting.confirmation.length > 0;
    if (confirmationsTurn) return 'confirmation';
    return PRIORITIES.find((priority) => this.waiting[priority].length > 0);
  }

  private freeInMs(): number {
    const oldest = this.starts.length < this.calls ? undefined : this.starts[0];
    return oldest === undefined ? 0 : oldest + this.windowMs + JITTER_MS - performance.now();
  }
}
