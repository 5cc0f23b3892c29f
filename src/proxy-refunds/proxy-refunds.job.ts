import { randomInt } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { messageOf, ConcurrencyLimit } from '../common';
import { RequestLimits } from '../http';
import { Jobs, type LeasedRun } from '../jobs';
import { Maintenance } from '../orders';
import { ProviderError, ProxyProvider } from '../provider';
import {
  type ProxyProbe,
  type ProxyCheckReason,
  ProxyChecksService,
  type ProxyToCheck,
  verdictOf,
} from '../proxies';
import { DUE_REFUNDS, type DueProxyRefund, ProxyRefundRecords } from './proxy-refund-records';
import { type RefundRule, RefundRules } from './refund-rules';

const EVERY_SECONDS = 15;
/** Limits the job's own checks; checks that customers request are not included. */
const CHECKS_AT_ONCE = 20;
const CONTROLS = 3;
/** A failed check counts only if at least this many other proxies work. */
const WORKING_CONTROLS = 2;
const POSTPONED_SECONDS = 60;
/**
 * Limits the random pauses between checks, so that all of a refund's checks fit into a day. A refund that is
 * undecided after a day goes to staff.
 */
const MOST_MINUTES_OF_CHECKS = 20 * 60;

/** Failures that are certainly the proxy's fault. Others may be caused by the target or by the service. */
const OWN_FAULTS: readonly (ProxyCheckReason | null)[] = ['refused', 'timeout', 'closed'];

/** Decides on refunds one at a time, on only one replica. */
@Injectable()
export class ProxyRefundsJob {
  private readonly logger = new Logger('Refunds');
  private readonly turns = new ConcurrencyLimit<string>(CHECKS_AT_ONCE, CHECKS_AT_ONCE);

  constructor(
    private readonly records: ProxyRefundRecords,
    private readonly rules: RefundRules,
    private readonly checks: ProxyChecksService,
    private readonly provider: ProxyProvider,
    private readonly maintenance: Maintenance,
    private readonly limits: RequestLimits,
    jobs: Jobs,
  ) {
    jobs.run({
      name: 'proxy-refunds',
      everySeconds: EVERY_SECONDS,
      waiting: `SELECT count(*)::integer AS count, min(next_check_at) AS oldest ${DUE_REFUNDS}`,
      hasWork: () => `EXISTS (SELECT ${DUE_REFUNDS})`,
      execute: (run) => this.lookAtDue(run),
    });
  }

  private async lookAtDue(run: LeasedRun): Promise<Record<string, number>> {
    const report = { looks: 0, decisions: 0 };
    if (await this.maintenance.isActive()) return report;
    for (;;) {
      await run.renew(report);
      const due = await this.records.findDue(CHECKS_AT_ONCE);
      if (due.length === 0) return report;
      const rule = await this.rules.get();
      const toDecide: DueProxyRefund[] = [];
      await Promise.all(
        due.map(async (refund) => {
          if (await this.isProven(refund, rule)) toDecide.push(refund);
        }),
      );
      // Sort, so that the remaining quota goes to the earliest requests.
      for (const refund of toDecide.sort((one, other) => one.id - other.id)) {
        await run.renew(report);
        await this.decide(refund).catch(async (error: unknown) => {
          // Continue with the other refunds.
          this.logger.error(`refund ${refund.id} could not be decided: ${messageOf(error)}`);
          await this.records.postpone(refund.id, POSTPONED_SECONDS);
        });
      }
      report.looks += due.length;
      report.decisions += toDecide.length;
    }
  }

  /** @returns whether enough checks have failed */
  private async isProven(refund: DueProxyRefund, rule: RefundRule): Promise<boolean> {
    const { id, isWithdrawn, isLate, isConfirmed, failures } = refund;
    if (!rule.enabled) await this.leaveToStaff(id, 'rule-disabled');
    else if (isWithdrawn) await this.leaveToStaff(id, 'withdrawn');
    else if (isLate) await this.leaveToStaff(id, 'undecided');
    else if (!isConfirmed) await this.records.postpone(id, POSTPONED_SECONDS);
    else if (failures >= rule.failed_checks) return true;
    else await this.check(refund, rule);
    return false;
  }

  private async check(refund: DueProxyRefund, rule: RefundRule): Promise<void> {
    const { id, failures } = refund;
    const found = await this.probe(refund);
    const { reason } = found;
    if (verdictOf(reason) === true) {
      await this.records.refuse(id, 'proxy-works');
      return;
    }
    const saysSomething =
      reason !== null &&
      verdictOf(reason) === false &&
      (await this.countWorkingControls(refund)) >= WORKING_CONTROLS &&
      !(await this.mayBeOurs(found));
    if (!saysSomething) await this.records.postpone(id, secondsBetween(rule));
    else if (!OWN_FAULTS.includes(reason)) await this.records.refuse(id, 'not-the-proxy');
    else {
      const isLast = failures + 1 >= rule.failed_checks;
      await this.records.recordFailure(id, reason, isLast ? 0 : secondsBetween(rule));
    }
  }

  /**
   * Whether our echo endpoint may have caused the failure. It closes connections that exceed its limits, and
   * anyone can exhaust those limits.
   */
  private async mayBeOurs({ reason, isAccepted }: ProxyProbe): Promise<boolean> {
    const closed = await this.limits.closedConnections();
    return closed.has('of-any') || (closed.size > 0 && isAccepted && OWN_FAULTS.includes(reason));
  }

  private async countWorkingControls(refund: DueProxyRefund): Promise<number> {
    const controls = await this.records.findControls(refund, CONTROLS);
    const found = await Promise.all(controls.map((control) => this.probe(control)));
    return found.filter(({ reason }) => verdictOf(reason) === true).length;
  }

  private probe(proxy: ProxyToCheck): Promise<ProxyProbe> {
    return this.turns.run('check', () => this.checks.probe(proxy));
  }

  /** Refunds the proxy only if the provider's own check also finds that it does not work. */
  private async decide(refund: DueProxyRefund): Promise<void> {
    const { id } = refund;
    let works: boolean;
    try {
      works = await this.provider.checkProxy(refund.providerProxyId);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      this.logger.warn(`refund ${id} is waiting for the provider's check: ${messageOf(error)}`);
      await this.records.postpone(id, POSTPONED_SECONDS);
      return;
    }
    if (works) {
      await this.leaveToStaff(id, 'provider-disagrees');
      return;
    }
    const obstacle = await this.records.refundByRule(id);
    if (obstacle === null) this.logger.log(`proxy ${refund.proxyId} does not work: refund ${id} was made`);
    else if (obstacle === 'open') await this.records.postpone(id, POSTPONED_SECONDS);
    else if (obstacle === 'refund-quota-used' || obstacle === 'prolonged') {
      await this.records.refuse(id, obstacle);
    } else await this.leaveToStaff(id, obstacle);
  }

  private async leaveToStaff(id: number, reason: string): Promise<void> {
    await this.records.leaveToStaff(id, reason);
    this.logger.warn(`refund ${id} is left to staff: ${reason}`);
  }
}

/** Random: a customer who knew when the next check is due could make it fail. */
function secondsBetween({ minutes_between: least, failed_checks: checks }: RefundRule): number {
  const most = Math.max(least, Math.min(2 * least, MOST_MINUTES_OF_CHECKS / checks));
  return randomInt(60 * least, 60 * most + 1);
}
