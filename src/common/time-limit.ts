import { setMaxListeners } from 'node:events';

/**
 * A time limit that another signal can end early. It replaces `AbortSignal.any()` with
 * `AbortSignal.timeout()` for two reasons: Node 20 garbage-collects an otherwise unreferenced timeout, which
 * then never fires; and a long-lived signal keeps an entry for each signal derived from it.
 */
export class TimeLimit {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private readonly abort = (): void => this.controller.abort();
  isOver = false;

  /** @param end ends the time limit early */
  constructor(
    ms: number,
    private readonly end?: AbortSignal,
  ) {
    this.timer = setTimeout(() => {
      this.isOver = true;
      this.abort();
    }, ms);
    // Prevents Node's warning: many operations may listen to one signal at the same time.
    setMaxListeners(0, this.signal, ...(end ? [end] : []));
    end?.addEventListener('abort', this.abort);
    if (end?.aborted === true) this.abort();
  }

  /** Aborts when the time is up or the other signal aborts. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Clears the timer and the listener. Call it when the operation is over, in time or not. */
  release(): void {
    clearTimeout(this.timer);
    this.end?.removeEventListener('abort', this.abort);
  }
}
