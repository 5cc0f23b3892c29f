import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CatalogService, assertPeriodSold, type PriceList, toIpVersion } from '../catalog';
import { Clock, DomainError, inSlices, type IpVersion, Money } from '../common';
import { inTransaction, queryRow, queryRows } from '../database';
import { RequestsUnderWay } from '../http';
import { ITEMS_AT_ONCE, type ForecastFunds, type Rental, runForecast } from './forecast';
import type { ForecastItem, ForecastOut, ForecastQuery } from './forecast.dto';
import { type RenewalDecision, monthOf, type RenewalObstacle } from './renewal-decision';
import { ruleOfProxySql } from './rule-of-proxy';

const DAY_MS = 86_400_000;

/** Amounts are decimal strings in roubles. */
interface FoundFunds {
  readonly available: string;
  readonly monthlyBudget: string | null;
  readonly spent: string;
  readonly obstacle: RenewalObstacle | null;
  readonly rentals: number;
}

/** Group of rentals with the same rule, country, version and state. */
interface FoundRentals {
  readonly ids: readonly number[];
  /** The rentals' expiries in Unix milliseconds, in the order of `ids`. */
  readonly ends: readonly number[];
  readonly country: string;
  readonly version: string;
  readonly isWithdrawn: boolean;
  readonly hasOpenRefund: boolean;
  readonly ruleId: number;
  readonly period: number;
  readonly maxPrice: string | null;
  readonly hoursBefore: number;
}

interface Sums {
  renewals: number;
  cost: Money;
  notRenewed: number;
}

/** Parameters: user, now, start of the current month. */
const READ_FUNDS = `
  SELECT available, (SELECT monthly_budget FROM renewal_settings WHERE user_id = $1) AS "monthlyBudget",
         renewals_spent($1, $3) AS spent, (renewal_obstacles_of_user($1))[1] AS obstacle,
         (SELECT count(*) FROM proxies
           WHERE user_id = $1 AND date_end > $2 AND withdrawn_at IS NULL) AS rentals
    FROM accounts WHERE user_id = $1`;

/**
 * Looks up the renewal rule once per group of rentals, because the same rule applies to the whole group. Open
 * prolongations are treated as completed. Parameters: user, now.
 */
const READ_RENTALS = `
  SELECT ids, ends, alike.country, version, is_withdrawn AS "isWithdrawn", has_refund AS "hasOpenRefund",
         rule.id AS "ruleId", rule.period, max_price AS "maxPrice", hours_before AS "hoursBefore"
    FROM (SELECT array_agg(id) AS ids, array_agg(ends_at) AS ends,
                 $1::bigint AS user_id, own_id, country, version, label, tags, is_withdrawn, has_refund
            FROM (SELECT proxies.id, proxies.country, proxies.version, proxies.label, proxies.tags,
                         proxies.withdrawn_at IS NOT NULL AS is_withdrawn, own.proxy_id AS own_id,
                         refund.id IS NOT NULL AS has_refund,
                         floor(1000 * extract(epoch FROM proxies.date_end))::bigint
                           + 86400000::bigint * coalesce(open.period, 0) AS ends_at
                    FROM proxies
                    LEFT JOIN orders AS open
                      ON open.proxy_id = proxies.id AND open.closed_at IS NULL AND open.kind = 'prolongation'
                    LEFT JOIN renewal_rules AS own
                      ON own.proxy_id = proxies.id AND own.user_id = $1 AND own.disabled_at IS NULL
                    LEFT JOIN proxy_refunds AS refund
                      ON refund.proxy_id = proxies.id AND refund.state IN ('checking', 'staff')
                   WHERE proxies.user_id = $1 AND proxies.date_end > $2) AS rented
           GROUP BY own_id, country, version, label, tags, is_withdrawn, has_refund) AS alike
    JOIN LATERAL (${ruleOfProxySql('alike', 'own_id')}) AS rule ON true`;

@Injectable()
export class ForecastService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly catalog: CatalogService,
    private readonly underWay: RequestsUnderWay,
    private readonly clock: Clock,
  ) {}

  /** @throws TooManyUnderWay */
  read(userId: number, query: ForecastQuery): Promise<ForecastOut> {
    return this.underWay.run('forecast', userId, () => this.make(userId, query));
  }

  private async make(userId: number, { days, cursor, limit }: ForecastQuery): Promise<ForecastOut> {
    const { found, funds, rentals } = await this.prepare(userId);
    const { now } = funds;
    const sums = newSums();
    const byDay = new Map<string, Sums & { available: Money }>();
    const byMonth = new Map<string, Sums>();
    const reasons = new Map<RenewalObstacle, number>();
    // The cursor is the number of items on all previous pages.
    const before = cursor ?? 0;
    const items: ForecastItem[] = [];
    let count = 0;
    const unpaid = await runForecast(funds, rentals, days, ({ at, decisions, available }) => {
      if (decisions.length === 0) return;
      const day = at.toISOString().slice(0, 10);
      const ofDay = entryOf(byDay, day, () => ({ ...newSums(), available }));
      ofDay.available = available;
      const ofHour = newSums();
      for (const decision of decisions) {
        if (decision.renew) {
          ofHour.renewals += 1;
          ofHour.cost = ofHour.cost.plus(decision.price);
        } else {
          ofHour.notRenewed += 1;
          reasons.set(decision.reason, (reasons.get(decision.reason) ?? 0) + 1);
        }
      }
      const from = Math.max(before - count, 0);
      const page = decisions.slice(from, from + limit - items.length);
      items.push(...page.map((decision) => toItem(at, decision)));
      count += decisions.length;
      for (const part of [sums, ofDay, entryOf(byMonth, day.slice(0, 7), newSums)]) addTo(part, ofHour);
    });
    const covered = rentals.filter(({ obstacle }) => obstacle !== 'proxy-withdrawn').length;
    return {
      as_of: now,
      until: new Date(now.getTime() + days * DAY_MS),
      available: found.available,
      covered,
      not_covered: found.rentals - covered,
      totals: toSums(sums),
      reasons: [...reasons].map(([reason, times]) => ({ reason, rentals: times })),
      by_month: [...byMonth].map(([month, part]) => ({ month, ...toSums(part) })),
      by_day: [...byDay].map(([day, part]) => ({
        day,
        ...toSums(part),
        available: part.available.toString(),
      })),
      balance_lasts_until: unpaid && unpaid.toISOString().slice(0, 10),
      items,
      next_cursor: before + items.length < count ? before + items.length : null,
    };
  }

  /** @returns reasons for expected failures, by `rentalKey` */
  async obstaclesAhead(userId: number, days: number): Promise<ReadonlyMap<string, RenewalObstacle>> {
    const { funds, rentals } = await this.prepare(userId);
    const reasons = new Map<string, RenewalObstacle>();
    await runForecast(funds, rentals, days, ({ decisions }) => {
      for (const decision of decisions) {
        if (!decision.renew) reasons.set(rentalKey(decision.candidate), decision.reason);
      }
    });
    return reasons;
  }

  /** Reads funds and rentals from one snapshot: a concurrent renewal changes either both or neither. */
  private async prepare(
    userId: number,
  ): Promise<{ found: FoundFunds; funds: ForecastFunds; rentals: Rental[] }> {
    const now = this.clock.now();
    const [found, rows] = await inTransaction(this.dataSource, async (manager) => {
      await queryRows(manager, 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
      return [
        await queryRow<FoundFunds>(manager, READ_FUNDS, [userId, now, monthOf(now)]),
        await queryRows<FoundRentals>(manager, READ_RENTALS, [userId, now]),
      ] as const;
    });
    const prices = await this.pricesFor(userId, rows);
    const rentals: Rental[] = [];
    for await (const some of inSlices(toRentals(rows, prices), ITEMS_AT_ONCE)) rentals.push(...some);
    return { found, funds: toFunds(found, now), rentals };
  }

  private async pricesFor(userId: number, rows: readonly FoundRentals[]): Promise<PriceList> {
    const prices = await this.catalog.priceList(userId);
    const unknown = new Map<string, { version: IpVersion; period: number; count: number }>();
    for await (const some of inSlices(rows, ITEMS_AT_ONCE)) {
      for (const { country, period, ...row } of some) {
        const version = toIpVersion(row.version);
        if (prices({ country, version, period }) !== null) continue;
        unknown.set(`${version} ${period}`, { version, period, count: 1 });
      }
    }
    if (unknown.size === 0) return prices;
    await Promise.all(
      [...unknown.values()].map((offer) => this.catalog.quote(offer, userId).catch(unlessDomainError)),
    );
    return this.catalog.priceList(userId);
  }
}

export const rentalKey = ({ proxyId, dateEnd }: Pick<Rental, 'proxyId' | 'dateEnd'>): string =>
  `${proxyId} ${dateEnd.getTime()}`;

function unlessDomainError(error: unknown): void {
  if (!(error instanceof DomainError)) throw error;
}

function toFunds({ available, monthlyBudget, spent, obstacle }: FoundFunds, now: Date): ForecastFunds {
  const monthly = monthlyBudget === null ? null : Money.parse(monthlyBudget);
  const budget = monthly && { monthly, left: monthly.minus(Money.parse(spent)) };
  return { now, available: Money.parse(available), budget, obstacle };
}

function* toRentals(rows: readonly FoundRentals[], prices: PriceList): Generator<Rental> {
  for (const { ids, ends, maxPrice, ...row } of rows) {
    const { country, period, ruleId, hoursBefore } = row;
    const terms = {
      ruleId,
      period,
      hoursBefore,
      maxPrice: maxPrice === null ? null : Money.parse(maxPrice),
      price: prices({ country, version: toIpVersion(row.version), period }),
      obstacle: obstacleOf(row),
    };
    for (const [at, proxyId] of ids.entries()) yield { ...terms, proxyId, dateEnd: new Date(ends[at] ?? 0) };
  }
}

function obstacleOf({
  isWithdrawn,
  hasOpenRefund,
  version,
  period,
}: Pick<FoundRentals, 'isWithdrawn' | 'hasOpenRefund' | 'version' | 'period'>): RenewalObstacle | null {
  if (isWithdrawn) return 'proxy-withdrawn';
  if (hasOpenRefund) return 'refund-open';
  try {
    assertPeriodSold(toIpVersion(version), period, 'renewal');
    return null;
  } catch (error) {
    unlessDomainError(error);
    return 'period-not-sold';
  }
}

function toItem(at: Date, decision: RenewalDecision<Rental>): ForecastItem {
  const { proxyId, ruleId, dateEnd, period, price } = decision.candidate;
  return {
    proxy_id: String(proxyId),
    rule_id: ruleId,
    at,
    date_end: dateEnd,
    renewed: decision.renew,
    reason: decision.renew ? null : decision.reason,
    period,
    price: price && price.toString(),
    new_date_end: decision.renew ? new Date(dateEnd.getTime() + period * DAY_MS) : null,
  };
}

const newSums = (): Sums => ({ renewals: 0, cost: Money.zero, notRenewed: 0 });

function addTo(sums: Sums, { renewals, cost, notRenewed }: Sums): void {
  sums.renewals += renewals;
  sums.cost = sums.cost.plus(cost);
  sums.notRenewed += notRenewed;
}

const toSums = ({ renewals, cost, notRenewed }: Sums) => ({
  renewals,
  cost: cost.toString(),
  not_renewed: notRenewed,
});

function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
