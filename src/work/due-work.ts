/** What is done at about the same time makes room for one claim together. */
const LOOK_AFTER_MS = 25;

/**
 * A statement that tells what waits: `count`, and `oldest`, the moment since when the oldest of it waits for
 * the service. It is read with each scrape, so an index finds the rows.
 */
export type WaitingSql = string;

/** What a claim has given. */
export interface Claimed<Row> {
  readonly rows: readonly Row[];
  /** Whether more may be due. */
  readonly isMore: boolean;
}

/** Rows that come due, and are carried out by whichever replica claims them. */
export interface DueWork<Row> {
  /** In the log, and the label of its metrics. */
  readonly name: string;
  /** How often a replica looks when nothing wakes it. */
  readonly lookEveryMs: number;
  /** How many may be under way on a replica. Without a bound, the claim has one of its own. */
  readonly atOnce: number;
  /** For the metrics, of all replicas. */
  readonly waiting: WaitingSql;
  /**
   * Claims rows by one guarded statement. Where another replica may claim a row again, the lease outlasts
   * what is done under it.
   *
   * @param room how many at most
   * @param underWay what this replica has claimed and not done yet
   */
  claim(room: number, underWay: Iterable<Row>): Promise<Claimed<Row>>;
  /**
   * Carries a row out, outside of transactions. Its last statement is guarded by the claim.
   *
   * @param cutOff aborts when the process stops and cannot wait any longer
   */
  carryOut(row: Row, cutOff: AbortSignal): Promise<void>;
  /** Has hints wake it: called once the process begins to work. */
  listen?(wake: () => void): void;
}

/** What this process has to do with due work. */
export class DueRows<Row> {
  private readonly underWay = new Map<Row, Promise<void>>();
  private nextLook: NodeJS.Timeout | undefined;

  /**
   * @param wake has something claimed, now and once more if it was under way
   * @param carryOut never rejects
   */
  constructor(
    private readonly work: DueWork<Row>,
    readonly wake: () => void,
    private readonly carryOut: (row: Row) => Promise<void>,
  ) {}

  /** Claims what there is room for, and begins with it. @returns whether more may be due */
  async claim(): Promise<{ claimed: number; isMore: boolean }> {
    const room = this.work.atOnce - this.underWay.size;
    if (room <= 0) return { claimed: 0, isMore: false };
    const { rows, isMore } = await this.work.claim(room, this.underWay.keys());
    for (const row of rows) this.begin(row);
    return { claimed: rows.length, isMore };
  }

  /** Waits until nothing that was claimed is under way. */
  async untilIdle(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay.values());
  }

  private begin(row: Row): void {
    const done = this.carryOut(row).finally(() => {
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
