const WINDOW_MS = 1000;

/** Limits requests within any second. Refused requests do not count. */
export class SlidingRateLimit {
  private admitted: number[] = [];

  /** @param perSecond null for no limit */
  constructor(public perSecond: number | null) {}

  /** @param nowMs current time, from a monotonic clock */
  admits(nowMs: number): boolean {
    if (this.perSecond === null) return true;
    this.admitted = this.admitted.filter((atMs) => nowMs - atMs < WINDOW_MS);
    if (this.admitted.length >= this.perSecond) return false;
    this.admitted.push(nowMs);
    return true;
  }
}
