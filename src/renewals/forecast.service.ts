import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CatalogService, checkPeriod, type PriceList, toIpVersion } from '../catalog';
import { Clock, DomainError, inSlices, type IpVersion, Money } from '../common';
import { inTransaction, queryRows } from '../database';
import { RequestsUnderWay } from '../http';
import { heldUpSql, spentOfBudgetSql } from './budget';
import { type Decision, monthOf, type Obstacle, type ProxyObstacle, type SkipReason } from './decide';
import { AT_ONCE, foresee, type Funds, type Rental } from './forecast';
import type { ForecastItem, ForecastOut, ForecastQuery } from './forecast.dto';
import { ruleOfProxySql } from './rule-of-proxy';

const DAY_MS = 86_400_000;

/** Amounts are roubles. */
interface FoundFunds {
  readonly available: string;
  readonly monthlyBudget: string | null;
  readonly spent: string;
  readonly heldUp: Obstacle | null;
  /** How many proxies are on rent. */
  readonly rentals: number;
}

/** Proxies that are alike and end at the same moment. */
interface FoundRentals {
  readonly ids: readonly (number | string)[];
  /** Milliseconds. */
  readonly endsAt: number;
  readonly country: string;
  readonly version: string;
  readonly isWithdrawn: boolean;
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

/** `$1` the user, `$2` the present time, `$3` the beginning of its month. */
const READ_FUNDS = `
  SELECT available, (SELECT monthly_budget FROM renewal_settings WHERE user_id = $1) AS "monthlyBudget",
         ${spentOfBudgetSql('$1', '$3')} AS spent, ${heldUpSql('$1')} AS "heldUp",
         (SELECT count(*) FROM proxies
           WHERE user_id = $1 AND date_end > $2 AND withdrawn_at IS NULL) AS rentals
    FROM accounts WHERE user_id = $1`;

/**
 * A prolongation that is open is taken for carried out: its money is held, and nothing else is known of it.
 * `$1` the user, `$2` the present time.
 */
const READ_RENTALS = `
  SELECT array_agg(id ORDER BY id) AS ids, ends_at AS "endsAt", country, version,
         is_withdrawn AS "isWithdrawn", rule_id AS "ruleId", period, max_price AS "maxPrice",
         hours_before AS "hoursBefore"
    FROM (SELECT proxies.id, proxies.country, proxies.version,
                 proxies.withdrawn_at IS NOT NULL AS is_withdrawn,
                 floor(1000 * extract(epoch FROM proxies.date_end))::bigint
                   + 86400000::bigint * coalesce(
                       (SELECT open.period FROM orders AS open
                         WHERE open.proxy_id = proxies.id AND open.closed_at IS NULL), 0) AS ends_at,
                 rule.id AS rule_id, rule.period, rule.max_price, rule.hours_before
            FROM proxies JOIN LATERAL (${ruleOfProxySql()}) AS rule ON true
           WHERE proxies.user_id = $1 AND proxies.date_end > $2) AS ruled
   GROUP BY ends_at, country, version, is_withdrawn, rule_id, period, max_price, hours_before`;

/** Tells customers what will be renewed, when and at which price, and what will not. */
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
    const now = this.clock.now();
    const { found, rows } = await this.readBooks(userId, now);
    const rentals = await this.priced(userId, rows);
    const funds = toFunds(found, now);

    const sums = newSums();
    const byDay = new Map<string, Sums & { available: Money }>();
    const byMonth = new Map<string, Sums>();
    const reasons = new Map<SkipReason, number>();
    let firstUnpaid: number | null = null;
    // The cursor counts the items on the pages before.
    const before = cursor ?? 0;
    const items: ForecastItem[] = [];
    let count = 0;
    await foresee(funds, rentals, days, ({ at, decisions, available }) => {
      if (decisions.length === 0) return;
      const day = at.toISOString().slice(0, 10);
      const ofDay = entryOf(byDay, day, () => ({ ...newSums(), available }));
      ofDay.available = available;
      const ofHour = newSums();
      for (const decision of decisions) {
        if (count >= before && items.length < limit) items.push(toItem(at, decision));
        count += 1;
        if (decision.renew) {
          ofHour.renewals += 1;
          ofHour.cost = ofHour.cost.plus(decision.price);
          continue;
        }
        ofHour.notRenewed += 1;
        reasons.set(decision.reason, (reasons.get(decision.reason) ?? 0) + 1);
        if (decision.reason === 'balance-short') {
          firstUnpaid = Math.min(firstUnpaid ?? Infinity, decision.candidate.dateEnd.getTime());
        }
      }
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
      balance_lasts_until: firstUnpaid === null ? null : new Date(firstUnpaid).toISOString().slice(0, 10),
      items,
      next_cursor: before + items.length < count ? before + items.length : null,
    };
  }

  /**
   * Why renewals of the next days will not work out, as things are.
   *
   * @returns reasons by {@link rentalKey}
   */
  async obstaclesAhead(userId: number, days: number): Promise<ReadonlyMap<string, SkipReason>> {
    const now = this.clock.now();
    const { found, rows } = await this.readBooks(userId, now);
    const rentals = await this.priced(userId, rows);
    const reasons = new Map<string, SkipReason>();
    await foresee(toFunds(found, now), rentals, days, ({ decisions }) => {
      for (const decision of decisions) {
        if (decision.renew) reasons.delete(rentalKey(decision.candidate));
        else reasons.set(rentalKey(decision.candidate), decision.reason);
      }
    });
    return reasons;
  }

  /** Funds and rentals of one moment: a renewal that is placed meanwhile is in both or in neither. */
  private readBooks(userId: number, now: Date): Promise<{ found: FoundFunds; rows: FoundRentals[] }> {
    return inTransaction(this.dataSource, async (manager) => {
      await queryRows(manager, 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const [found] = await queryRows<FoundFunds>(manager, READ_FUNDS, [userId, now, monthOf(now)]);
      if (!found) throw new Error(`user ${userId} of a valid token has no account`);
      return { found, rows: await queryRows<FoundRentals>(manager, READ_RENTALS, [userId, now]) };
    });
  }

  private async priced(userId: number, rows: readonly FoundRentals[]): Promise<Rental[]> {
    const prices = await this.pricesFor(userId, rows);
    const rentals: Rental[] = [];
    for await (const some of inSlices(toRentals(rows, prices), AT_ONCE)) rentals.push(...some);
    return rentals;
  }

  /** The list of prices, after each period without one was asked for as a quote does. */
  private async pricesFor(userId: number, rows: readonly FoundRentals[]): Promise<PriceList> {
    const prices = await this.catalog.priceList(userId);
    const unknown = new Map<string, { version: IpVersion; period: number; count: number }>();
    for await (const some of inSlices(rows, AT_ONCE)) {
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

/** Names the renewal of one rental: a proxy, and the end that it has before. */
export const rentalKey = ({ proxyId, dateEnd }: Pick<Rental, 'proxyId' | 'dateEnd'>): string =>
  `${proxyId} ${dateEnd.getTime()}`;

function unlessDomainError(error: unknown): void {
  if (!(error instanceof DomainError)) throw error;
}

function toFunds({ available, monthlyBudget, spent, heldUp }: FoundFunds, now: Date): Funds {
  const monthly = monthlyBudget === null ? null : Money.parse(monthlyBudget);
  const budget = monthly && { monthly, left: monthly.minus(Money.parse(spent)) };
  return { now, available: Money.parse(available), budget, obstacle: heldUp };
}

function* toRentals(rows: readonly FoundRentals[], prices: PriceList): Generator<Rental> {
  for (const { ids, endsAt, maxPrice, ...row } of rows) {
    const version = toIpVersion(row.version);
    const { country, period, ruleId, hoursBefore } = row;
    const shared = {
      dateEnd: new Date(endsAt),
      ruleId,
      period,
      hoursBefore,
      maxPrice: maxPrice === null ? null : Money.parse(maxPrice),
      price: prices({ country, version, period }),
      obstacle: obstacleOf(row),
    };
    for (const id of ids) yield { ...shared, proxyId: Number(id) };
  }
}

function obstacleOf({
  isWithdrawn,
  version,
  period,
}: Pick<FoundRentals, 'isWithdrawn' | 'version' | 'period'>): ProxyObstacle | null {
  if (isWithdrawn) return 'proxy-withdrawn';
  try {
    checkPeriod(toIpVersion(version), period, 'renewal');
    return null;
  } catch (error) {
    unlessDomainError(error);
    return 'period-not-sold';
  }
}

function toItem(at: Date, decision: Decision<Rental>): ForecastItem {
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
