/**
 * Bounds the work under way, by key and in all. Beyond a bound, `enter` refuses and `run` waits. Waiting keys
 * take turns, so that the backlog of one does not delay the others.
 */
export class Turns<Key> {
  /** A key with nothing under way takes no memory. */
  private readonly underWay = new Map<Key, number>();
  private readonly waiting = new Map<Key, Set<(leave: () => void) => void>>();
  private total = 0;

  /**
   * @param most how much is under way at the same time
   * @param mostOfOne how much of that may be one key's
   */
  constructor(
    private readonly most: number,
    private readonly mostOfOne: number,
  ) {}

  /** How much of a key is under way. */
  of(key: Key): number {
    return this.underWay.get(key) ?? 0;
  }

  /** How much of a key waits. */
  waitingOf(key: Key): number {
    return this.waiting.get(key)?.size ?? 0;
  }

  /**
   * Begins something that counts once, and for each of the keys.
   *
   * @returns a function to call when it has ended, or null beyond a bound
   */
  enter(...keys: readonly Key[]): (() => void) | null {
    if (this.total >= this.most || keys.some((key) => this.of(key) >= this.mostOfOne)) return null;
    this.add(keys, 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.add(keys, -1);
      this.begin();
    };
  }

  /**
   * Runs work in its turn, and returns its result.
   *
   * @param end cancels the work, unless it has begun
   * @throws the reason of `end`
   */
  run<Result>(key: Key, work: () => Promise<Result>, end?: AbortSignal): Promise<Result> {
    return new Promise((resolve, reject) => {
      end?.throwIfAborted();
      const line = this.waiting.get(key) ?? new Set();
      const begin = (leave: () => void): void => {
        end?.removeEventListener('abort', takeBack);
        void work().then(resolve, reject).finally(leave);
      };
      const takeBack = (): void => {
        line.delete(begin);
        if (line.size === 0 && this.waiting.get(key) === line) this.waiting.delete(key);
        reject(end?.reason as Error);
      };
      end?.addEventListener('abort', takeBack);
      this.waiting.set(key, line.add(begin));
      this.begin();
    });
  }

  private begin(): void {
    for (const [key, line] of this.waiting) {
      if (this.total >= this.most) return;
      const [work] = line;
      const leave = work && this.enter(key);
      if (!leave) continue;
      line.delete(work);
      // A map keeps insertion order: the key becomes the last, and this loop reaches it again.
      this.waiting.delete(key);
      if (line.size > 0) this.waiting.set(key, line);
      work(leave);
    }
  }

  private add(keys: readonly Key[], change: 1 | -1): void {
    this.total += change;
    for (const key of keys) {
      const count = this.of(key) + change;
      if (count === 0) this.underWay.delete(key);
      else this.underWay.set(key, count);
    }
  }
}
