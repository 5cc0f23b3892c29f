/** Delay before the next claim, so that rows that finish together share one claim. */
const LOOK_AFTER_MS = 25;

/** SQL for the backlog: its `count`, and the time of its `oldest` row. Runs on each metrics scrape. */
export type BacklogSql = string;

/**
 * Returns an SQL condition that is true if there may be work. Evaluated at each interval of the job, in one
 * statement with other jobs' conditions, so it needs an index.
 */
export type DueConditionSql = () => string;

export interface Claimed<Row> {
  readonly rows: readonly Row[];
  readonly isMore: boolean;
}

/** Work on rows that become due. A replica claims a row and then processes it. */
export interface DueWork<Row> {
  /** Name in the log and in metrics. */
  readonly name: string;
  /** Interval at which a replica polls. Notifications can trigger an earlier poll. */
  readonly lookEveryMs: number;
  /** Condition under which a poll claims rows. If omitted, every poll claims rows. */
  readonly isDue?: DueConditionSql;
  /** Maximum number of rows in progress on a replica. If it is infinite, `claim` must have its own limit. */
  readonly atOnce: number;
  /** SQL for the backlog of all replicas, for metrics. */
  readonly waiting: BacklogSql;
  /**
   * Claims rows with one guarded statement. If another replica may later claim the same row, the lease must
   * outlast the row's processing.
   *
   * @param capacity maximum number of rows
   * @param underWay rows that this replica is processing
   */
  claim(capacity: number, underWay: Iterable<Row>): Promise<Claimed<Row>>;
  /**
   * Processes a row, outside of transactions. The last statement must be guarded by the claim.
   * @param cutOff aborts when the process stops and cannot wait any longer
   */
  execute(row: Row, cutOff: AbortSignal): Promise<void>;
  /** Subscribes to notifications that trigger a poll. Called once, when the jobs start. */
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

  /** Claims as many rows as allowed, and begins to process them. Returns whether more rows may be due. */
  async claim(): Promise<{ claimed: number; isMore: boolean }> {
    const capacity = this.work.atOnce - this.underWay.size;
    if (capacity <= 0) return { claimed: 0, isMore: false };
    const { rows, isMore } = await this.work.claim(capacity, this.underWay.keys());
    for (const row of rows) this.begin(row);
    return { claimed: rows.length, isMore };
  }

  /** Waits until all claimed rows are processed. */
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
