import { setMaxListeners } from 'node:events';

/**
 * The time that something may take, unless a signal ends it earlier. It stands for `AbortSignal.any()` with
 * `AbortSignal.timeout()`: Node 20 collects a timeout that nothing else refers to, which then never comes,
 * and a signal that lasts keeps an entry of every one that was made of it.
 */
export class TimeLimit {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private readonly abort = (): void => this.controller.abort();
  /** Whether the time is up. */
  isOver = false;

  /** @param end ends it before its time */
  constructor(
    ms: number,
    private readonly end?: AbortSignal,
  ) {
    this.timer = setTimeout(() => {
      this.isOver = true;
      this.abort();
    }, ms);
    // As many may wait for one signal as there is to be done at a time.
    setMaxListeners(0, this.signal, ...(end ? [end] : []));
    end?.addEventListener('abort', this.abort);
    if (end?.aborted === true) this.abort();
  }

  /** Aborts when the time is up or the other signal does. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** To be called when it is done, in time or not. */
  release(): void {
    clearTimeout(this.timer);
    this.end?.removeEventListener('abort', this.abort);
  }
}
