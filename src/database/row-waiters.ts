import { Logger } from '@nestjs/common';
import { messageOf } from '../common';
import type { Notifier } from './notifier';

export type WaitsByRow<Row> = ReadonlyMap<number, ReadonlySet<RowWait<Row>>>;

/** Lets requests wait for changes to rows. Polls each second, because notifications may be lost. */
export class RowWaiters<Row extends { readonly id: number }> {
  private readonly logger = new Logger(RowWaiters.name);
  private readonly waits = new Map<number, Set<RowWait<Row>>>();
  private isListening = false;
  private isPolling = false;

  /** @param read must return only rows whose commit a failover cannot undo */
  constructor(
    private readonly notifier: Notifier,
    private readonly kind: string,
    private readonly read: (waits: WaitsByRow<Row>) => Promise<Iterable<Row>>,
  ) {}

  count(): number {
    return [...this.waits.values()].reduce((count, { size }) => count + size, 0);
  }

  /** Begins to wait for changes to a row. The caller must close the wait. */
  open(id: number, see?: (row: Row) => void): RowWait<Row> {
    if (!this.isListening) this.listen();
    const wait = new RowWait<Row>(this.notifier, see, () => {
      const waits = this.waits.get(id);
      waits?.delete(wait);
      if (waits?.size === 0) this.waits.delete(id);
    });
    this.waits.set(id, (this.waits.get(id) ?? new Set()).add(wait));
    return wait;
  }

  async until(
    id: number,
    isOver: (row: Row) => boolean,
    timeoutMs: number,
    hungUp: AbortSignal,
  ): Promise<void> {
    const wait = this.open(id);
    await wait.until(isOver, timeoutMs, hungUp);
    wait.close();
  }

  /**
   * Passes changed rows to waiting requests and notifies the other replicas. Never rejects.
   * @param known changed rows, in their new state; the other awaited rows in `ids` are read from the database
   * @param elsewhere ids of rows that requests on other replicas may be waiting for
   */
  async changed(ids: readonly number[], known: readonly Row[] = [], elsewhere = ids): Promise<void> {
    this.notifier.send(this.kind, elsewhere);
    this.show(known);
    const shown = new Set(known.map(({ id }) => id));
    await this.look(ids.filter((id) => !shown.has(id)));
  }

  /** Reads those of the given rows that requests are waiting for. Never rejects. */
  async look(ids: Iterable<number>): Promise<void> {
    const awaited = new Map<number, ReadonlySet<RowWait<Row>>>();
    for (const id of ids) {
      const waits = this.waits.get(id);
      if (waits) awaited.set(id, waits);
    }
    if (awaited.size === 0) return;
    try {
      this.show(await this.read(awaited));
    } catch (error) {
      this.logger.warn(`could not read awaited ${this.kind}: ${messageOf(error)}`);
    }
  }

  private listen(): void {
    this.isListening = true;
    this.notifier.listen(this.kind, (ids) => void (ids ? this.look(ids) : this.poll()));
  }

  private async poll(): Promise<void> {
    if (this.isPolling) return;
    this.isPolling = true;
    await this.look(this.waits.keys());
    this.isPolling = false;
  }

  private show(rows: Iterable<Row>): void {
    for (const row of rows) for (const wait of this.waits.get(row.id) ?? []) wait.see(row);
  }
}

/**
 * Lets a request wait repeatedly for the same row. If the expected change comes between two calls of
 * `until()`, the second call returns at once.
 */
export class RowWait<Row> {
  row: Row | undefined;
  private check: (() => void) | undefined;

  constructor(
    private readonly notifier: Notifier,
    private readonly onSee: ((row: Row) => void) | undefined,
    readonly close: () => void,
  ) {}

  see(row: Row): void {
    this.row = row;
    this.onSee?.(row);
    this.check?.();
  }

  /** Returns whether the expected row appeared in time. Never rejects. */
  async until(isOver: (row: Row) => boolean, timeoutMs: number, hungUp: AbortSignal): Promise<boolean> {
    const isOverNow = (): boolean => this.row !== undefined && isOver(this.row);
    if (isOverNow()) return true;
    await this.notifier.untilEnded(timeoutMs, hungUp, (end) => {
      this.check = () => {
        if (isOverNow()) end();
      };
    });
    this.check = undefined;
    return isOverNow();
  }
}
