import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CatalogService, RenewalPrices } from '../../catalog';
import { DomainError, inSlices, Money, ServiceUnavailable } from '../../common';
import { databaseTime } from '../../database';
import { RenewalOrders, type RenewalCapacity, type WantedRenewal } from '../../orders';
import {
  type RenewalCandidate,
  decideRenewals,
  type RenewalDecision,
  firstObstacle,
  COMMON_OBSTACLES,
  PROXY_OBSTACLES,
  type RenewalObstacle,
  RENEWAL_OBSTACLES,
} from '../renewal-decision';
import { type DueRenewal, RenewalRecords, type SkippedRenewal } from './renewal-records';

const DECIDED_AT_ONCE = 1000;
const PLACED_AT_ONCE = 200;

type NeededRenewal = DueRenewal & { readonly ruleId: number };
const isNeeded = (renewal: DueRenewal): renewal is NeededRenewal =>
  renewal.ruleId !== null && !renewal.obstacles.includes('superfluous');

interface DueCandidate extends RenewalCandidate {
  readonly renewal: NeededRenewal;
}

export interface RenewalCounts {
  readonly due: number;
  readonly superfluous: number;
  readonly skipped: number;
  readonly placed: number;
}

/** The statement that places orders checks all conditions again, so outdated decisions do no harm. */
@Injectable()
export class DueRenewals {
  constructor(
    private readonly dataSource: DataSource,
    private readonly records: RenewalRecords,
    private readonly catalog: CatalogService,
    private readonly orders: RenewalOrders,
  ) {}

  async decideSome(capacity: RenewalCapacity): Promise<RenewalCounts> {
    const due = await this.records.findDue(DECIDED_AT_ONCE);
    const superfluous = due.filter((renewal) => !isNeeded(renewal)).map(({ id }) => id);
    const undecided: number[] = [];
    const skipped: SkippedRenewal[] = [];
    const wanted: WantedRenewal[] = [];
    const prices = new RenewalPrices(this.catalog);
    for (const { candidate, ...decision } of await this.decideAll(due.filter(isNeeded), prices)) {
      const { renewal, maxPrice } = candidate;
      const quote = await prices.of(renewal);
      const skip = (reason: SkippedRenewal['reason']): number =>
        skipped.push({ id: renewal.id, reason, price: candidate.price?.toString() ?? null });
      if (!decision.renew) {
        // Do not skip a late renewal: `RenewalRecords.fail` will fail it with its last attempt's reason.
        if (decision.reason !== 'too-late') skip(decision.reason);
      } else if (quote instanceof DomainError) {
        skip(obstacleOf(quote));
      } else if (!capacity.covers(quote.providerPrice)) {
        skip('provider-unavailable');
      } else {
        const { id: renewalId, dateEnd: dateEndBefore, ...offer } = renewal;
        wanted.push({ ...offer, renewalId, dateEndBefore, maxPrice, quote });
      }
    }
    const asked = wanted.filter((one) => capacity.take(one));
    let placed = 0;
    for await (const together of inSlices(asked, PLACED_AT_ONCE)) {
      const placements = await this.orders.place(together);
      for (const [n, { renewalId: id, quote }] of together.entries()) {
        const obstacle = placements[n]?.obstacle;
        const reason = RENEWAL_OBSTACLES.find((one) => one === obstacle);
        if (!obstacle) placed += 1;
        else if (reason) skipped.push({ id, reason, price: quote.unitPrice.toString() });
        // Do not skip the renewal, but decide again later: another rule applies now, or a row was locked.
        else (obstacle === 'superfluous' ? superfluous : undecided).push(id);
      }
    }
    await this.records.skip(skipped);
    await this.records.putOff(undecided);
    return {
      due: due.length,
      superfluous: await this.records.remove(superfluous),
      skipped: skipped.length,
      placed,
    };
  }

  private async decideAll(
    renewals: readonly NeededRenewal[],
    prices: RenewalPrices,
  ): Promise<RenewalDecision<DueCandidate>[]> {
    const now = await databaseTime(this.dataSource);
    const isClosed = !this.orders.canBeSent();
    const decisions: RenewalDecision<DueCandidate>[] = [];
    for (const [first, ...others] of byUser(renewals)) {
      const candidates = await Promise.all([first, ...others].map((renewal) => toCandidate(renewal, prices)));
      const funds = {
        now,
        available: Money.parse(first.available),
        budgetLeft: first.budgetLeft === null ? null : Money.parse(first.budgetLeft),
        obstacle: firstObstacle(COMMON_OBSTACLES, [
          ...first.obstacles,
          ...(isClosed ? ['provider-unavailable'] : []),
        ]),
      };
      decisions.push(...decideRenewals(funds, candidates));
    }
    return decisions;
  }
}

async function toCandidate(renewal: NeededRenewal, prices: RenewalPrices): Promise<DueCandidate> {
  const { proxyId, dateEnd, maxPrice, obstacles } = renewal;
  const quote = await prices.of(renewal);
  const isUnpriced = quote instanceof DomainError;
  return {
    renewal,
    proxyId,
    dateEnd,
    maxPrice: maxPrice === null ? null : Money.parse(maxPrice),
    price: isUnpriced ? null : quote.unitPrice,
    obstacle: firstObstacle(PROXY_OBSTACLES, isUnpriced ? [...obstacles, obstacleOf(quote)] : obstacles),
  };
}

const obstacleOf = (error: DomainError): RenewalObstacle =>
  error instanceof ServiceUnavailable ? 'no-price' : 'period-not-sold';

function byUser(renewals: readonly NeededRenewal[]): [NeededRenewal, ...NeededRenewal[]][] {
  const users = new Map<number, [NeededRenewal, ...NeededRenewal[]]>();
  for (const renewal of renewals) {
    const own = users.get(renewal.userId);
    if (own) own.push(renewal);
    else users.set(renewal.userId, [renewal]);
  }
  return [...users.values()];
}
