import { Logger } from '@nestjs/common';
import { messageOf } from '../common';
import type { Hints } from './hints';

/** How often all awaited rows are polled, in one statement: a hint may be lost. */
const LOOK_INTERVAL_MS = 1000;

export interface WaitedRows {
  /** For the log, in the plural. */
  readonly name: string;
  /** Handles a hint that these rows changed. */
  readonly hear: (keys: Iterable<number>) => void;
  /** Checks all awaited rows for changes, in one statement. */
  readonly lookAtAll: () => Promise<void>;
}

/**
 * Requests that wait for changes of rows by this process, another replica or staff. A hint reports a change
 * at once; one statement each second finds changes whose hint was lost. `RequestsUnderWay` bounds the waits
 * of a user.
 */
export class RowWaits<Wait> {
  private readonly logger = new Logger(RowWaits.name);
  private readonly waits = new Map<number, Set<Wait>>();
  private stopListening: (() => void) | undefined;
  private looking: NodeJS.Timeout | undefined;
  private isLooking = false;

  constructor(
    private readonly hints: Hints,
    private readonly rows: WaitedRows,
  ) {}

  count(): number {
    return [...this.waits.values()].reduce((count, { size }) => count + size, 0);
  }

  entries(): IterableIterator<[number, ReadonlySet<Wait>]> {
    return this.waits.entries();
  }

  of(key: number): ReadonlySet<Wait> | undefined {
    return this.waits.get(key);
  }

  begin(key: number, wait: Wait): void {
    this.waits.set(key, (this.waits.get(key) ?? new Set()).add(wait));
    this.looking ??= setInterval(() => void this.lookAtAll(), LOOK_INTERVAL_MS);
    this.stopListening ??= this.hints.listen((keys) => {
      if (keys) this.rows.hear(keys);
      else void this.lookAtAll();
    });
  }

  /** Removes a wait that is over. */
  end(key: number, wait: Wait): void {
    const waits = this.waits.get(key);
    waits?.delete(wait);
    if (waits?.size === 0) this.waits.delete(key);
    if (this.waits.size > 0) return;
    clearInterval(this.looking);
    this.looking = undefined;
    this.stopListening?.();
    this.stopListening = undefined;
  }

  /** Checks all awaited rows. Never rejects. */
  async lookAtAll(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    this.hints.stayConnected();
    try {
      await this.rows.lookAtAll();
    } catch (error) {
      this.logger.warn(`${this.rows.name} could not be read: ${messageOf(error)}`);
    } finally {
      this.isLooking = false;
    }
  }
}

/**
 * Resolves when the wait is ended, when the time is over, or when the client hangs up, whichever comes first.
 *
 * @param begin receives the function that ends the wait
 */
export function untilEnded(
  timeoutMs: number,
  hungUp: AbortSignal,
  begin: (end: () => void) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      hungUp.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, timeoutMs);
    hungUp.addEventListener('abort', end);
    begin(end);
    if (hungUp.aborted) end();
  });
}
