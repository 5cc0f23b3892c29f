import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { compareDecimals, Money, subtractDecimals } from '../../common';
import { databaseTime, JobLease, type JobRun } from '../../database';
import { RenewalOrders, type RenewalRoom, type WantedRenewal } from '../../orders';
import { type Candidate, decide, firstOf, OBSTACLES, PROXY_OBSTACLES } from '../decide';
import { Announcements } from './announcements.service';
import { type PriceBook, RenewalPrices } from './renewal-prices';
import { type DueRenewal, type Place, RenewalRecords } from './renewal-records';

/** What a run has done, as its report counts it. */
const NOTHING_DONE = {
  planned: 0,
  announced: 0,
  superfluous: 0,
  placed: 0,
  skipped: 0,
  failed: 0,
  closed: 0,
};
type RunReport = typeof NOTHING_DONE;

/** A due renewal as the decision reads it. */
interface DueCandidate extends Candidate {
  readonly renewal: NeededRenewal;
}

type NeededRenewal = DueRenewal & { readonly ruleId: number };
const isNeeded = (renewal: DueRenewal): renewal is NeededRenewal =>
  renewal.ruleId !== null && !renewal.refusals.includes('superfluous');

/** A run that does not renew its lease for so long counts as dead. */
const LEASE_SECONDS = 5;
/** Prices that the provider is asked for, and large forecasts, take longer than a lease. */
const RENEW_LEASE_EVERY_MS = 1500;
/** A round that takes longer than this hangs: another replica may begin. */
const LONGEST_ROUND_MS = 120_000;

/** The provider takes no more in one call, and a statement places no more at once. */
const PROXIES_PER_CALL = 200;

/**
 * How many purchases with ends that no sweep has confirmed are in the queue at once: each takes a listing,
 * which tells the ends of all its proxies.
 */
const PURCHASES_TO_LIST = 10;

/** How many due renewals are decided together. */
const DECIDED_AT_ONCE = 1000;

const BUSY_PAUSE_MS = 200;
const IDLE_PAUSE_MS = 1000;

/** How often what comes due later is planned and announced, and what waits for money is looked at. */
const PLAN_EVERY_MS = 60_000;
const CREDITS_EVERY_MS = 5000;

/**
 * Carries renewals out: one replica at a time decides which are due and places their orders, a few calls'
 * worth at once. Whatever it decides by is checked again in the statement that places the orders, so that a
 * replica which has lost its lease does no harm. Nothing of it is kept in memory: the next run goes on where
 * one was cut off.
 */
@Injectable()
export class RenewalRun {
  private readonly lease: JobLease;
  private plannedAtMs = -Infinity;
  /** Whether something may have been planned that its customer was not told of. */
  private isUntold = false;
  private creditsAtMs = -Infinity;
  private roundBeganMs = 0;

  constructor(
    private readonly dataSource: DataSource,
    private readonly records: RenewalRecords,
    private readonly announcements: Announcements,
    private readonly prices: RenewalPrices,
    private readonly orders: RenewalOrders,
  ) {
    this.lease = new JobLease(dataSource, 'renewals');
  }

  /**
   * Runs until nothing is due and nothing of it is under way, unless another replica does.
   *
   * @returns null when another replica does, or the last run was a moment ago
   */
  runWhenDue(intervalMs: number, signal: AbortSignal): Promise<RunReport | null> {
    const times = {
      intervalSeconds: Math.ceil(intervalMs / 1000),
      dueForSeconds: intervalMs / 1000,
      leaseSeconds: LEASE_SECONDS,
    };
    return this.lease.runWhenDue(times, (run) => this.run(run, signal));
  }

  private async run(run: JobRun, signal: AbortSignal): Promise<RunReport> {
    const report = { ...NOTHING_DONE };
    const renewing = setInterval(() => this.renewMeanwhile(run, report), RENEW_LEASE_EVERY_MS);
    try {
      await this.runRounds(run, signal, report);
    } finally {
      clearInterval(renewing);
    }
    return report;
  }

  /** A lease that was lost ends the run before its next step, which renews it, too. */
  private renewMeanwhile(run: JobRun, report: RunReport): void {
    if (performance.now() - this.roundBeganMs > LONGEST_ROUND_MS) return;
    run.renew(report).catch(() => undefined);
  }

  private async runRounds(run: JobRun, signal: AbortSignal, report: RunReport): Promise<void> {
    for (;;) {
      this.roundBeganMs = performance.now();
      await run.renew(report);
      await this.lookAhead(run, report);
      if (this.isUntold) {
        const told = await this.announcements.tellNext();
        report.announced += told;
        this.isUntold = told > 0;
      }
      report.closed += await this.records.noteOutcomes();
      report.failed += await this.records.fail();
      if (!this.orders.canBeSent()) await this.orders.withdraw();
      const room = await this.orders.room();
      const due = await this.decideDue(run, new QueueRoom(room), report);
      const isBusy = room.underWay > 0;
      if (signal.aborted || (due === 'nothing' && !isBusy && !this.isUntold)) return;
      if (due === 'changed' || (this.isUntold && !isBusy)) continue;
      await pause(isBusy ? BUSY_PAUSE_MS : IDLE_PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  private async lookAhead(run: JobRun, report: RunReport): Promise<void> {
    const now = performance.now();
    if (now - this.creditsAtMs >= CREDITS_EVERY_MS) {
      this.creditsAtMs = now;
      await this.records.retryAfterCredits();
    }
    if (now - this.plannedAtMs < PLAN_EVERY_MS) return;
    this.plannedAtMs = now;
    await run.repeat<Place>(report, 'planned', (place) => this.records.plan(place));
    report.superfluous += await this.records.removeSuperfluous();
    this.announcements.beginAnew();
    this.isUntold = true;
  }

  /**
   * Decides what is due, and places orders as far as there is room in the queue.
   *
   * @returns `changed`: something was decided; `waiting`: what is due has to wait; `nothing` is due
   */
  private async decideDue(
    run: JobRun,
    room: QueueRoom,
    report: RunReport,
  ): Promise<'changed' | 'waiting' | 'nothing'> {
    if (room.isFull()) return 'waiting';
    const due = await this.records.findDue(DECIDED_AT_ONCE);
    if (due.length === 0) return 'nothing';
    const superfluous = due.filter((renewal) => !isNeeded(renewal)).map(({ id }) => id);
    report.superfluous += await this.records.remove(superfluous);
    const isClosed = !this.orders.canBeSent();
    const book = this.prices.open();
    const now = await databaseTime(this.dataSource);
    const skipped = [];
    const wanted: WantedRenewal[] = [];
    for (const renewals of byUser(due.filter(isNeeded))) {
      for (const decision of await this.decideFor(renewals, { now, isClosed, book })) {
        const { renewal } = decision.candidate;
        const quote = await book.quote(renewal);
        if (!decision.renew || typeof quote === 'string') {
          const reason = decision.renew ? 'no-price' : decision.reason;
          // What is too late fails with the reason of its last try.
          if (reason !== 'too-late') {
            skipped.push({ id: renewal.id, reason, price: decision.candidate.price?.toString() ?? null });
          }
        } else if (!room.covers(quote.providerPrice)) {
          const price = decision.price.toString();
          skipped.push({ id: renewal.id, reason: 'provider-unavailable' as const, price });
        } else {
          const { id: renewalId, ruleId, dateEnd: dateEndBefore, ...offer } = renewal;
          const { maxPrice } = decision.candidate;
          wanted.push({ ...offer, renewalId, ruleId, dateEndBefore, maxPrice, quote });
        }
      }
    }
    await this.records.skip(skipped);
    const placed = wanted.filter((one) => room.take(one));
    await this.place(run, placed, report);
    report.skipped += skipped.length;
    return superfluous.length + skipped.length + placed.length > 0 ? 'changed' : 'waiting';
  }

  /** @param renewals of one user */
  private async decideFor(
    renewals: readonly NeededRenewal[],
    { now, isClosed, book }: { now: Date; isClosed: boolean; book: PriceBook },
  ) {
    const [first] = renewals;
    if (!first) return [];
    const { available, budgetLeft } = first;
    const candidates = await Promise.all(
      renewals.map(async (renewal): Promise<DueCandidate> => {
        const quote = await book.quote(renewal);
        const priceRefusals = typeof quote === 'string' ? [quote] : [];
        return {
          renewal,
          proxyId: renewal.proxyId,
          dateEnd: renewal.dateEnd,
          maxPrice: renewal.maxPrice === null ? null : Money.parse(renewal.maxPrice),
          price: typeof quote === 'string' ? null : quote.unitPrice,
          obstacle: firstOf(PROXY_OBSTACLES, [...renewal.refusals, ...priceRefusals]),
        };
      }),
    );
    const means = {
      now,
      available: Money.parse(available),
      budgetLeft: budgetLeft === null ? null : Money.parse(budgetLeft),
      obstacle: firstOf(OBSTACLES, [...first.refusals, ...(isClosed ? ['provider-unavailable'] : [])]),
    };
    return decide(means, candidates);
  }

  private async place(run: JobRun, wanted: readonly WantedRenewal[], report: RunReport): Promise<void> {
    for (let first = 0; first < wanted.length; first += PROXIES_PER_CALL) {
      await run.renew(report);
      const together = wanted.slice(first, first + PROXIES_PER_CALL);
      const placements = await this.orders.place(together);
      const refused = together.filter((_, n) => placements[n]?.id === null);
      report.placed += together.length - refused.length;
      // What was decided by has changed since: it is decided anew.
      await this.records.putOff(refused.map(({ renewalId }) => renewalId));
    }
  }
}

/** What may still be put into the queue. */
class QueueRoom {
  private free: number;
  private spendable: string | null;
  /** The tags of purchases that are to be listed. */
  private readonly toList: Set<string>;

  constructor(room: RenewalRoom) {
    this.free = room.free;
    this.spendable = room.spendable;
    this.toList = new Set(room.toList);
  }

  isFull(): boolean {
    return this.free <= 0;
  }

  /** Whether our balance at the provider pays for it, beside what is queued and was taken. */
  covers(cost: string): boolean {
    return this.spendable === null || compareDecimals(this.spendable, cost) >= 0;
  }

  /** Takes room for one more order. @returns false when there is none */
  take({ isConfirmed, purchaseTag, quote }: WantedRenewal): boolean {
    const isListed = isConfirmed || this.toList.has(purchaseTag);
    if (!isListed && this.toList.size >= PURCHASES_TO_LIST) return false;
    if (this.isFull() || !this.covers(quote.providerPrice)) return false;
    if (!isListed) this.toList.add(purchaseTag);
    if (this.spendable !== null) this.spendable = subtractDecimals(this.spendable, quote.providerPrice);
    this.free -= 1;
    return true;
  }
}

function byUser(renewals: readonly NeededRenewal[]): NeededRenewal[][] {
  const users = new Map<number, NeededRenewal[]>();
  for (const renewal of renewals) {
    const own = users.get(renewal.userId) ?? [];
    own.push(renewal);
    users.set(renewal.userId, own);
  }
  return [...users.values()];
}
