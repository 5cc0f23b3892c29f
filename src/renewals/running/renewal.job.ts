import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { type LeasedRun, Jobs } from '../../jobs';
import { RenewalOrders } from '../../orders';
import { WAITING_RENEWALS } from '../waiting';
import { DueRenewals } from './due-renewals.service';
import { Reminders } from './reminders.service';
import { type Cursor, RenewalRecords } from './renewal-records';

const NOTHING_DONE = {
  planned: 0,
  reminded: 0,
  superfluous: 0,
  placed: 0,
  skipped: 0,
  failed: 0,
  closed: 0,
};
type RunReport = typeof NOTHING_DONE;

const countOf = (report: RunReport): number => Object.values(report).reduce((sum, count) => sum + count, 0);

const EVERY_SECONDS = 5;
/** After the death of a replica, decisions wait this long. */
const LEASE_SECONDS = 5;

/** How long a run waits for its orders, or for room in the queue, before it looks again. */
const PAUSE_MS = 200;

/** How often later renewals are planned, with a reminder, and those that wait for money are checked. */
const PLAN_EVERY_MS = 60_000;
const UNBLOCK_EVERY_MS = 5000;

/**
 * Executes renewals: one replica at a time decides which are due and places their orders, for a few calls at
 * once. A replica that has lost its lease does no harm: every statement checks what it changes. No state is
 * kept in memory: the next run continues where one was cut off.
 */
@Injectable()
export class RenewalJob {
  private plannedAtMs = -Infinity;
  /** Whether something may have been planned of which its customer was not reminded. */
  private isUnreminded = false;
  private unblockedAtMs = -Infinity;

  constructor(
    private readonly records: RenewalRecords,
    private readonly reminders: Reminders,
    private readonly due: DueRenewals,
    private readonly orders: RenewalOrders,
    jobs: Jobs,
  ) {
    jobs.run({
      name: 'renewals',
      everySeconds: EVERY_SECONDS,
      waiting: WAITING_RENEWALS,
      pollEveryMs: EVERY_SECONDS * 1000,
      leaseSeconds: LEASE_SECONDS,
      execute: (run, cutOff) => this.execute(run, cutOff),
    });
  }

  /** Runs until no renewal is due or under way. */
  private async execute(run: LeasedRun, cutOff: AbortSignal): Promise<RunReport> {
    const report = { ...NOTHING_DONE };
    while (!cutOff.aborted) {
      await run.renew(report);
      const before = countOf(report);
      const isBusy = await this.round(run, report);
      // After a change there may be more work.
      if (countOf(report) > before) continue;
      if (!isBusy) break;
      await pause(PAUSE_MS, undefined, { signal: cutOff }).catch(() => undefined);
    }
    return report;
  }

  /** @returns whether a renewal is under way, or due and has to wait */
  private async round(run: LeasedRun, report: RunReport): Promise<boolean> {
    await this.lookAhead(run, report);
    if (!this.orders.canBeSent()) await this.orders.withdraw();
    // Read before the outcomes: an order that is no longer under way is recorded by this run.
    const room = await this.orders.room();
    report.closed += await this.records.recordOutcomes();
    report.failed += await this.records.fail();
    if (room.isFull()) return true;
    const { due, superfluous, skipped, placed } = await this.due.decideSome(room);
    report.superfluous += superfluous;
    report.skipped += skipped;
    report.placed += placed;
    return due > 0 || room.underWay > 0;
  }

  /** Plans renewals that become due later, and reminds of them. */
  private async lookAhead(run: LeasedRun, report: RunReport): Promise<void> {
    const now = performance.now();
    if (now - this.unblockedAtMs >= UNBLOCK_EVERY_MS) {
      this.unblockedAtMs = now;
      await this.records.retryUnblocked();
    }
    if (now - this.plannedAtMs >= PLAN_EVERY_MS) {
      this.plannedAtMs = now;
      await run.repeat<Cursor>(report, 'planned', (cursor) => this.records.plan(cursor));
      report.superfluous += await this.records.removeSuperfluous();
      this.reminders.beginAnew();
      this.isUnreminded = true;
    }
    if (!this.isUnreminded) return;
    const reminded = await this.reminders.remindNext();
    report.reminded += reminded;
    this.isUnreminded = reminded > 0;
  }
}
