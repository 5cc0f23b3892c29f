/** Limits concurrent work to `most` tasks in total and `mostOfOne` per key. Waiting keys take turns. */
export class ConcurrencyLimit<Key> {
  private readonly underWay = new Map<Key, number>();
  private readonly waiting = new Map<Key, Set<(leave: () => void) => void>>();
  private total = 0;

  constructor(
    private readonly most: number,
    private readonly mostOfOne: number,
  ) {}

  of(key: Key): number {
    return this.underWay.get(key) ?? 0;
  }

  waitingOf(key: Key): number {
    return this.waiting.get(key)?.size ?? 0;
  }

  /** Begins work. Returns a function to call when the work ends; null if a limit is reached. */
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

  /** Runs work when its key's turn comes. Aborting `end` cancels work that has not begun. */
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
      // Move the key to the end of the map, where this loop reaches it again.
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
