import type { Book } from './book/book';

/** The provider's time: this machine's, shifted by what the control interface ordered. */
export class SandboxClock {
  constructor(private readonly book: Book) {}

  nowMs(): number {
    return Date.now() + this.book.clockOffsetMs;
  }

  nowS(): number {
    return Math.floor(this.nowMs() / 1000);
  }
}
