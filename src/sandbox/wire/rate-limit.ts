const WINDOW_MS = 1000;

/** At most so many in any second, counted by a sliding window. What is refused does not count. */
export class SlidingRateLimit {
  private admitted: number[] = [];

  /** @param perSecond null: no limit. */
  constructor(public perSecond: number | null) {}

  /** @param nowMs of a monotonic clock. */
  admits(nowMs: number): boolean {
    if (this.perSecond === null) return true;
    this.admitted = this.admitted.filter((atMs) => nowMs - atMs < WINDOW_MS);
    if (this.admitted.length >= this.perSecond) return false;
    this.admitted.push(nowMs);
    return true;
  }
}
