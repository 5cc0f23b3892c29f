import { Counts } from './counts';

/**
 * Runs the work of many users with bounded concurrency. Users take turns and each has at most a share, so
 * that one user's backlog does not delay the others.
 */
export class FairTurns {
  private readonly waiting = new Map<number, Set<() => Promise<void>>>();
  private readonly running = new Counts<number>();
  private total = 0;

  /**
   * @param most how much runs at the same time
   * @param mostOfOne how much of that may be one user's
   */
  constructor(
    private readonly most: number,
    private readonly mostOfOne: number,
  ) {}

  /**
   * Runs work in its turn, and returns its result.
   *
   * @param end cancels the work, unless it has begun
   * @throws the reason of `end`
   */
  run<Result>(userId: number, work: () => Promise<Result>, end?: AbortSignal): Promise<Result> {
    return new Promise((resolve, reject) => {
      end?.throwIfAborted();
      const line = this.waiting.get(userId) ?? new Set();
      const begin = (): Promise<void> => {
        end?.removeEventListener('abort', takeBack);
        return work().then(resolve, reject);
      };
      const takeBack = (): void => {
        line.delete(begin);
        if (line.size === 0 && this.waiting.get(userId) === line) this.waiting.delete(userId);
        reject(end?.reason as Error);
      };
      end?.addEventListener('abort', takeBack);
      this.waiting.set(userId, line.add(begin));
      this.begin();
    });
  }

  /** How many pieces of a user's work have not begun. */
  waitingOf(userId: number): number {
    return this.waiting.get(userId)?.size ?? 0;
  }

  private begin(): void {
    for (const [userId, line] of this.waiting) {
      if (this.total >= this.most) return;
      const [work] = line;
      if (work === undefined || this.running.of(userId) >= this.mostOfOne) continue;
      line.delete(work);
      // A map keeps insertion order: the user becomes the last, and this loop reaches them again.
      this.waiting.delete(userId);
      if (line.size > 0) this.waiting.set(userId, line);
      this.running.add(userId, 1);
      this.total += 1;
      void work().finally(() => this.end(userId));
    }
  }

  private end(userId: number): void {
    this.running.add(userId, -1);
    this.total -= 1;
    this.begin();
  }
}
