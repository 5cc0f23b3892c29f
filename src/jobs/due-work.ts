/**
 * Pause between the end of a row's work and the next claim, so that one claim
 * replaces all rows that finish together.
 */
const LOOK_AFTER_MS = 25;

/** Selects the backlog's `count` and the time of its `oldest` row. Runs on each metrics scrape. */
export type BacklogSql = string;

/** Returns an SQL condition that is true if there may be work. Each poll runs it, so it needs an index. */
export type DueConditionSql = () => string;

export interface Claimed<Row> {
  readonly rows: readonly Row[];
  readonly isMore: boolean;
}

export interface DueWork<Row> {
  readonly name: string;
  readonly lookEveryMs: number;
  /** If omitted, every poll tries to claim rows. */
  readonly isDue?: DueConditionSql;
  /** Maximum number of rows in progress per replica. If infinite, `claim` must have its own limit. */
  readonly atOnce: number;
  readonly waiting: BacklogSql;
  /**
   * Claims up to `capacity` rows with one statement that skips claimed rows. A row's lease must outlast its
   * processing.
   * @param underWay rows that this replica is processing
   */
  claim(capacity: number, underWay: Iterable<Row>): Promise<Claimed<Row>>;
  /** The last statement must change nothing if the claim was lost. `cutOff` aborts when the process stops. */
  execute(row: Row, cutOff: AbortSignal): Promise<void>;
  listen?(wake: () => void): void;
}

export class DueRows<Row> {
  private readonly underWay = new Map<Row, Promise<void>>();
  private nextLook: NodeJS.Timeout | undefined;

  /** @param execute never rejects */
  constructor(
    private readonly work: DueWork<Row>,
    readonly wake: () => void,
    private readonly execute: (row: Row) => Promise<void>,
  ) {}

  async claim(): Promise<{ claimed: number; isMore: boolean }> {
    const capacity = this.work.atOnce - this.underWay.size;
    if (capacity <= 0) return { claimed: 0, isMore: false };
    const { rows, isMore } = await this.work.claim(capacity, this.underWay.keys());
    for (const row of rows) this.begin(row);
    return { claimed: rows.length, isMore };
  }

  async untilIdle(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay.values());
  }

  private begin(row: Row): void {
    const done = this.execute(row).finally(() => {
      this.underWay.delete(row);
      if (Number.isFinite(this.work.atOnce)) this.lookSoon();
    });
    this.underWay.set(row, done);
  }

  private lookSoon(): void {
    this.nextLook ??= setTimeout(() => {
      this.nextLook = undefined;
      this.wake();
    }, LOOK_AFTER_MS);
  }
}
