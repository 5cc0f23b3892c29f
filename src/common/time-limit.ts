import { setMaxListeners } from 'node:events';

/**
 * A time limit that another signal can end early. Combining `AbortSignal.any()` and `AbortSignal.timeout()`
 * has two faults: Node 20 may garbage-collect the timeout, which then never fires, and a long-lived signal
 * keeps an entry for every derived signal.
 */
export class TimeLimit {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private readonly abort = (): void => this.controller.abort();
  isOver = false;

  /** @param end signal that ends the time limit early */
  constructor(
    ms: number,
    private readonly end?: AbortSignal,
  ) {
    this.timer = setTimeout(() => {
      this.isOver = true;
      this.abort();
    }, ms);
    // Prevents Node's warning about many listeners on one signal.
    setMaxListeners(0, this.signal, ...(end ? [end] : []));
    end?.addEventListener('abort', this.abort);
    if (end?.aborted === true) this.abort();
  }

  /** Aborts when the time is up or the other signal aborts. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Clears the timer and the listener. Must be called when the operation is over. */
  release(): void {
    clearTimeout(this.timer);
    this.end?.removeEventListener('abort', this.abort);
  }
}
