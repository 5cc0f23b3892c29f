import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { type LeasedRun, Jobs } from '../../jobs';
import { RenewalOrders } from '../../orders';
import { WAITING_RENEWALS } from '../waiting-renewals';
import { DueRenewals } from './due-renewals';
import { type Cursor, IS_WORK_LEFT_SQL, RenewalRecords } from './renewal-records';
import { RenewalReminders } from './renewal-reminders';

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
/** How long until another replica takes over from a dead one. */
const LEASE_SECONDS = 5;

/** How long a run pauses while it waits for its orders, or for capacity in the queue. */
const PAUSE_MS = 200;

const PLAN_EVERY_MS = 60_000;
const UNBLOCK_EVERY_MS = 5000;

/** All state is in the database, so the next run resumes an interrupted one. */
@Injectable()
export class RenewalJob {
  private plannedAtMs = -Infinity;
  /** Whether some planned renewals may still need a reminder. */
  private isUnreminded = false;
  private unblockedAtMs = -Infinity;

  constructor(
    private readonly records: RenewalRecords,
    private readonly reminders: RenewalReminders,
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
      hasWork: () => (this.isPlanDue() || this.isUnreminded ? 'true' : IS_WORK_LEFT_SQL),
      execute: (run, cutOff) => this.execute(run, cutOff),
    });
  }

  private async execute(run: LeasedRun, cutOff: AbortSignal): Promise<RunReport> {
    const report = { ...NOTHING_DONE };
    while (!cutOff.aborted) {
      await run.renew(report);
      const before = countOf(report);
      const isBusy = await this.round(run, report);
      // A round that changed something may have created more work.
      if (countOf(report) > before) continue;
      if (!isBusy) break;
      await pause(PAUSE_MS, undefined, { signal: cutOff }).catch(() => undefined);
    }
    return report;
  }

  /** @returns whether renewals are in progress, or due but still waiting */
  private async round(run: LeasedRun, report: RunReport): Promise<boolean> {
    await this.lookAhead(run, report);
    if (!this.orders.canBeSent()) await this.orders.withdraw();
    // Read the capacity before the outcomes. An order that ends after this read still counts as in progress,
    // so the run continues until it has recorded the order's outcome.
    const capacity = await this.orders.capacity();
    report.closed += await this.records.recordOutcomes();
    report.failed += await this.records.fail();
    if (capacity.isFull()) return true;
    const { due, superfluous, skipped, placed } = await this.due.decideSome(capacity);
    report.superfluous += superfluous;
    report.skipped += skipped;
    report.placed += placed;
    return due > 0 || capacity.underWay > 0;
  }

  private async lookAhead(run: LeasedRun, report: RunReport): Promise<void> {
    if (performance.now() - this.unblockedAtMs >= UNBLOCK_EVERY_MS) {
      this.unblockedAtMs = performance.now();
      await this.records.retryUnblocked();
    }
    if (this.isPlanDue()) {
      this.plannedAtMs = performance.now();
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

  private isPlanDue(): boolean {
    return performance.now() - this.plannedAtMs >= PLAN_EVERY_MS;
  }
}
