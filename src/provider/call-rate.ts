import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { messageOf } from '../common';
import { queryRows } from '../database';
import { Deadline } from './deadline';
import { ProviderUnavailable } from './provider-errors';
import { CALL_PRIORITIES, type CallPriority, type RatePermit } from './proxy-provider';

/**
 * A call leaves within `PERMIT_MS` of its permit, and the window of permits is so much longer than the provider's. What is left between the
 * two is for calls that are on their way for different times: too little of it, and a fourth call arrives within a second.
 */
const PERMIT_MS = 60;
const MARGIN_MS = 150;

/** Nobody is turned away before the database can have been asked once. */
const SHORTEST_WAIT_MS = 100;

const ASK_AGAIN_AFTER_FAILURE_MS = 100;

/** No permit came free in time. Says nothing about the provider. */
export class NoPermitInTime extends ProviderUnavailable {
  override readonly name: string = 'NoPermitInTime';

  constructor() {
    super('no place in the rate of calls came free in time');
  }
}

const UNLIMITED: RatePermit = { until: Deadline.never, giveBack: () => Promise.resolve() };

type Admit = (permit: RatePermit) => void;

interface Slot {
  /** Null: none yet, ask again after the wait. */
  readonly priority: number | null;
  readonly wait_ms: number;
  readonly granted_at: string | null;
}

/**
 * At most so many calls in any window of time over all replicas, counted by the database: by priority, and in order of arrival
 * within one. While calls of this process wait, it asks for one place at a time.
 */
export class CallRate {
  private readonly logger = new Logger(CallRate.name);
  private readonly holder = randomUUID();
  private readonly waiting: Record<CallPriority, Admit[]> = {
    order: [],
    confirmation: [],
    price: [],
    rest: [],
  };
  private isAsking = false;
  /** The highest priority that the database knows to be waiting here, as it is numbered there. */
  private askedFor = Infinity;
  private endPause: () => void = () => undefined;
  /** How often there was a reason to ask again. */
  private wakeUps = 0;
  private hasFailed = false;
  private heldBack: Promise<void> = Promise.resolve();

  /** @param calls 0: no limit, and the database is not asked */
  constructor(
    private readonly dataSource: DataSource,
    private readonly provider: string,
    private readonly calls: number,
    private readonly windowMs = 1000,
  ) {}

  /**
   * @param goesFirst before those of the same priority: had a permit already, and could not use it
   * @throws NoPermitInTime
   */
  waitForPermit(priority: CallPriority, maxWaitMs: number, goesFirst = false): Promise<RatePermit> {
    if (this.calls === 0) return Promise.resolve(UNLIMITED);
    return new Promise((resolve, reject) => {
      const queue = this.waiting[priority];
      const timer = setTimeout(
        () => {
          queue.splice(queue.indexOf(admit), 1);
          if (this.highest() === Infinity) this.wake();
          reject(new NoPermitInTime());
        },
        Math.max(maxWaitMs, SHORTEST_WAIT_MS),
      );
      const admit = (permit: RatePermit) => {
        clearTimeout(timer);
        resolve(permit);
      };
      if (goesFirst) queue.unshift(admit);
      else queue.push(admit);
      if (!this.isAsking) void this.askWhileWaiting();
      else if (this.highest() < this.askedFor) this.wake();
    });
  }

  /** After the provider said that there were too many: others may be using the same key. Keeps every replica back for a second. */
  holdBack(): void {
    if (this.calls === 0) return;
    this.heldBack = this.tell(
      `UPDATE call_slots SET paused_until = greatest(paused_until, clock_timestamp() + interval '1 second') WHERE provider = $1`,
      [this.provider],
    );
  }

  waitingCalls(): Record<CallPriority, number> {
    const { order, confirmation, price, rest } = this.waiting;
    return { order: order.length, confirmation: confirmation.length, price: price.length, rest: rest.length };
  }

  private async askWhileWaiting(): Promise<void> {
    this.isAsking = true;
    for (;;) {
      if (this.highest() < Infinity) {
        const { wakeUps } = this;
        const pauseMs = await this.ask();
        // Something of a higher priority may have joined meanwhile, or a place come back, which the answer does not know of.
        if (pauseMs > 0 && wakeUps === this.wakeUps) await this.pause(pauseMs);
      } else if (this.askedFor < Infinity) {
        await this.withdraw();
      } else {
        break;
      }
    }
    this.isAsking = false;
  }

  /** @returns how long to wait before asking again */
  private async ask(): Promise<number> {
    try {
      const asked = await this.takeSlot();
      if (!asked) return 0;
      const { slot, until } = asked;
      this.hasFailed = false;
      if (slot.priority === null) return slot.wait_ms;
      await this.give(slot, until);
      return 0;
    } catch (error) {
      if (!this.hasFailed) this.logger.warn(`the database gives no permits: ${messageOf(error)}`);
      this.hasFailed = true;
      return ASK_AGAIN_AFTER_FAILURE_MS;
    }
  }

  private async takeSlot(): Promise<{ slot: Slot; until: Deadline } | undefined> {
    await this.heldBack;
    this.askedFor = this.highest();
    const runner = this.dataSource.createQueryRunner();
    try {
      // A connection may be long in coming. The permit counts from when the database can have given it.
      await runner.connect();
      const wanted = this.wanted();
      if (wanted.length === 0) return undefined;
      this.askedFor = this.highest();
      const until = Deadline.after(PERMIT_MS);
      const slots: Slot[] = await runner.query('SELECT * FROM take_call_slot($1, $2, $3, $4, $5)', [
        this.provider,
        this.holder,
        wanted,
        this.calls,
        this.windowMs + MARGIN_MS,
      ]);
      const [slot] = slots;
      if (!slot) throw new Error('no answer');
      // The database forgets the demand with the last one that it grants.
      if (slot.priority !== null && wanted.length === 1) this.askedFor = Infinity;
      return { slot, until };
    } finally {
      await runner.release();
    }
  }

  /** Those who gave up must not stand in the way of other replicas. */
  private async withdraw(): Promise<void> {
    this.askedFor = Infinity;
    await this.tell('DELETE FROM call_demand WHERE provider = $1 AND holder = $2', [
      this.provider,
      this.holder,
    ]);
  }

  private async give({ priority, granted_at: grantedAt }: Slot, until: Deadline): Promise<void> {
    let isGivenBack = false;
    const giveBack = async () => {
      if (isGivenBack) return;
      isGivenBack = true;
      // It does not count as served either, lest orders get three in a row or confirmations none.
      await this.tell(
        `UPDATE call_slots SET granted = array_remove(granted, $2::timestamptz),
                orders_in_a_row = CASE $3::smallint WHEN 1 THEN greatest(orders_in_a_row - 1, 0) ELSE 2 END
          WHERE provider = $1`,
        [this.provider, grantedAt, priority],
      );
      this.wake();
    };
    const admit = until.hasPassed() ? undefined : this.nextOf(CALL_PRIORITIES[(priority ?? 0) - 1]);
    if (admit) admit({ until, giveBack });
    else await giveBack();
  }

  /** Whoever it was asked for may have given up. */
  private nextOf(granted: CallPriority | undefined): Admit | undefined {
    const queues = CALL_PRIORITIES.map((priority) => this.waiting[priority]);
    const queue = granted && this.waiting[granted].length > 0 ? this.waiting[granted] : undefined;
    return (queue ?? queues.find(({ length }) => length > 0))?.shift();
  }

  /** Two of a priority stand for any number: after a permit for one of them, others are known to wait still. */
  private wanted(): number[] {
    return CALL_PRIORITIES.flatMap((priority, at) => this.waiting[priority].slice(0, 2).map(() => at + 1));
  }

  private highest(): number {
    return this.wanted()[0] ?? Infinity;
  }

  private wake(): void {
    this.wakeUps += 1;
    this.endPause();
  }

  private pause(durationMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.ceil(durationMs));
      this.endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** What only spares others a wait, when it can be said. */
  private async tell(statement: string, parameters: readonly unknown[]): Promise<void> {
    await queryRows(this.dataSource, statement, parameters).catch((error: unknown) =>
      this.logger.debug(`the database was not told about permits: ${messageOf(error)}`),
    );
  }
}
