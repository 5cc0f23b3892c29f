/** Delay before the next claim, so that rows that finish at about the same time share it. */
const LOOK_AFTER_MS = 25;

/**
 * A statement that returns the backlog: `count`, and `oldest`, the moment since which the oldest row has
 * waited for the service. It needs an index, because it runs with each scrape.
 */
export type WaitingSql = string;

export interface Claimed<Row> {
  readonly rows: readonly Row[];
  readonly isMore: boolean;
}

/** Rows that become due, each processed by the replica that claims it. */
export interface DueWork<Row> {
  /** The name in the log and in the label of its metrics. */
  readonly name: string;
  /** How often a replica polls if no notification wakes the work. */
  readonly lookEveryMs: number;
  /**
   * Maximum number of rows that a replica processes at a time. If it is infinite, the claim must have its own
   * limit.
   */
  readonly atOnce: number;
  /** Statement for the backlog of all replicas, for the metrics. */
  readonly waiting: WaitingSql;
  /**
   * Claims rows with one guarded statement. If another replica may claim a row again later, the lease must
   * outlast the work under it.
   *
   * @param room maximum number of rows
   * @param underWay rows that this replica has claimed and not finished
   */
  claim(room: number, underWay: Iterable<Row>): Promise<Claimed<Row>>;
  /**
   * Processes a row, outside transactions. Its last statement must be guarded by the claim.
   *
   * @param cutOff aborts when the process stops and cannot wait any longer
   */
  execute(row: Row, cutOff: AbortSignal): Promise<void>;
  /** Subscribes to notifications that wake the work. It is called when the process begins to work. */
  listen?(wake: () => void): void;
}

/** One kind of due work in this process. */
export class DueRows<Row> {
  private readonly underWay = new Map<Row, Promise<void>>();
  private nextLook: NodeJS.Timeout | undefined;

  /**
   * @param wake starts a claim, now or after the current one
   * @param execute never rejects
   */
  constructor(
    private readonly work: DueWork<Row>,
    readonly wake: () => void,
    private readonly execute: (row: Row) => Promise<void>,
  ) {}

  /**
   * Claims as many rows as allowed, and begins to process them.
   *
   * @returns whether more rows may be due
   */
  async claim(): Promise<{ claimed: number; isMore: boolean }> {
    const room = this.work.atOnce - this.underWay.size;
    if (room <= 0) return { claimed: 0, isMore: false };
    const { rows, isMore } = await this.work.claim(room, this.underWay.keys());
    for (const row of rows) this.begin(row);
    return { claimed: rows.length, isMore };
  }

  /** Waits until all claimed rows are finished. */
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
