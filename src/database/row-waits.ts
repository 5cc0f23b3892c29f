import { Logger } from '@nestjs/common';
import { messageOf } from '../common';
import type { Hints } from './hints';

/** How often it is looked at all that is waited for, in one statement: a hint may be lost. */
const LOOK_INTERVAL_MS = 1000;

/** What is waited for. */
export interface WaitedRows {
  /** For the log, in the plural. */
  readonly name: string;
  /** Something happened to these, as a hint told. */
  readonly hear: (keys: Iterable<number>) => void;
  /** Looks whether something happened to any that is waited for, in one statement. */
  readonly lookAtAll: () => Promise<void>;
}

/**
 * Requests that wait until something happens to rows, whatever changes these: this process, another replica,
 * or staff. A hint tells at once; one statement each second finds what a lost hint would have told. How many
 * may wait for one user, `RequestsUnderWay` says.
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

  /** How many wait. */
  count(): number {
    return [...this.waits.values()].reduce((count, { size }) => count + size, 0);
  }

  /** The keys that are waited for, and who waits for them. */
  entries(): IterableIterator<[number, ReadonlySet<Wait>]> {
    return this.waits.entries();
  }

  /** Who waits for a key. */
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

  /** Forgets a wait that is over. */
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

  /** Looks at all that is waited for. Never rejects. */
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
 * Resolves when a wait is ended, when the time is over, or when the client hangs up, whichever comes first.
 *
 * @param begin is given what ends the wait
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
