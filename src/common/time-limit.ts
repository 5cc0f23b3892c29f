import { setMaxListeners } from 'node:events';

/** Replaces `AbortSignal.any()` and `timeout()`, because Node 20 may garbage-collect a running timeout. */
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
    // Prevents Node's warning about many listeners.
    setMaxListeners(0, this.signal, ...(end ? [end] : []));
    end?.addEventListener('abort', this.abort);
    if (end?.aborted === true) this.abort();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Must be called when the operation ends. */
  release(): void {
    clearTimeout(this.timer);
    this.end?.removeEventListener('abort', this.abort);
  }
}
