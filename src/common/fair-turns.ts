import { Counts } from './counts';

/**
 * Runs the work of many users, some at the same time. Users take turns, and none has more than a share, so
 * that nobody waits behind all that somebody else has asked for.
 */
export class FairTurns {
  private readonly waiting = new Map<number, Set<() => Promise<void>>>();
  private readonly running = new Counts<number>();
  private total = 0;

  /**
   * @param most how much runs at the same time
   * @param mostOfOne how much of that is one user's
   */
  constructor(
    private readonly most: number,
    private readonly mostOfOne: number,
  ) {}

  /**
   * Runs work in its turn, and returns its result.
   *
   * @param end takes the work back, unless it has begun
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

  /** How much of a user's work has not begun. */
  waitingOf(userId: number): number {
    return this.waiting.get(userId)?.size ?? 0;
  }

  private begin(): void {
    for (const [userId, line] of this.waiting) {
      if (this.total >= this.most) return;
      const [work] = line;
      if (work === undefined || this.running.of(userId) >= this.mostOfOne) continue;
      line.delete(work);
      // A map keeps its order: the user comes last now, and is met again by this loop.
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
