import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CatalogService, type RenewalOffer, RenewalPrices } from '../../catalog';
import { DomainError, stackOf } from '../../common';
import { queryRows } from '../../database';
import { ForecastService, rentalKey } from '../forecast.service';
import type { RenewalObstacle } from '../renewal-decision';
import { eventDataSql, IS_IN_TIME_SQL, IS_OPEN_SQL } from './renewal-records';

const REMINDED_AT_ONCE = 1000;
/** Limits the queries per step, because each user's forecast takes several. */
const FORECASTS_AT_ONCE = 100;

/** A day longer than a week, because every renewal with a reminder becomes due within a week. */
const DAYS_AHEAD = 8;

/** A renewal without a reminder for its current stage. */
interface UnremindedRenewal extends RenewalOffer {
  readonly id: number;
  readonly proxyId: number;
  readonly dateEnd: Date;
  /** Reminder stage: 7, 3 or 1 days before expiry. */
  readonly days: number;
}

/** Reminds customers of renewals a week before expiry, and again if the renewal is expected to fail. */
@Injectable()
export class RenewalReminders {
  private readonly logger = new Logger(RenewalReminders.name);
  /** Expected failures by user, then by `rentalKey`. */
  private readonly forecasts = new Map<number, ReadonlyMap<string, RenewalObstacle>>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly catalog: CatalogService,
    private readonly forecast: ForecastService,
  ) {}

  beginAnew(): void {
    this.forecasts.clear();
  }

  /** @returns the number of renewals for which reminders were due */
  async remindNext(): Promise<number> {
    const unreminded: UnremindedRenewal[] = [];
    let forecastCount = 0;
    for (const renewal of await this.findUnreminded(REMINDED_AT_ONCE)) {
      if (!this.forecasts.has(renewal.userId)) {
        if (forecastCount >= FORECASTS_AT_ONCE) break;
        forecastCount += 1;
        this.forecasts.set(renewal.userId, await this.obstaclesAhead(renewal.userId));
      }
      unreminded.push(renewal);
    }
    const prices = new RenewalPrices(this.catalog);
    const reminders = await Promise.all(
      unreminded.map(async (renewal) => {
        const quote = await prices.of(renewal);
        return {
          id: renewal.id,
          days: renewal.days,
          price: quote instanceof DomainError ? null : quote.unitPrice.toString(),
          obstacle: this.forecasts.get(renewal.userId)?.get(rentalKey(renewal)) ?? null,
        };
      }),
    );
    await this.remind(reminders);
    return reminders.length;
  }

  /** Returns no expected failures if the forecast itself fails, because renewals must not wait for it. */
  private async obstaclesAhead(userId: number): Promise<ReadonlyMap<string, RenewalObstacle>> {
    try {
      return await this.forecast.obstaclesAhead(userId, DAYS_AHEAD);
    } catch (error) {
      this.logger.error(`user ${userId}: sending renewal reminders without a forecast`, stackOf(error));
      return new Map();
    }
  }

  private findUnreminded(limit: number): Promise<UnremindedRenewal[]> {
    return queryRows(
      this.dataSource,
      `SELECT renewal.id, renewal.user_id AS "userId", proxy_id AS "proxyId", date_end_before AS "dateEnd",
              proxies.country, proxies.version, renewal.period, days
         FROM renewals renewal JOIN proxies ON proxies.id = renewal.proxy_id,
              LATERAL (SELECT CASE WHEN date_end_before > now() + interval '3 days' THEN 7
                                   WHEN date_end_before > now() + interval '1 day' THEN 3
                                   ELSE 1 END AS days) AS stage
        WHERE ${IS_OPEN_SQL} AND ${IS_IN_TIME_SQL}
          AND (last_reminded_days IS NULL OR days < last_reminded_days)
        ORDER BY next_try_at, date_end_before, proxy_id LIMIT $1`,
      [limit],
    );
  }

  /** Sends an event for each first reminder, and for each expected failure. */
  private async remind(
    renewals: readonly {
      readonly id: number;
      readonly days: number;
      readonly price: string | null;
      readonly obstacle: string | null;
    }[],
  ): Promise<void> {
    if (renewals.length === 0) return;
    await queryRows(
      this.dataSource,
      `WITH given AS (
         SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::numeric[], $4::text[])
                    AS given (id, days, price, obstacle)
       ),
       before AS MATERIALIZED (
         SELECT id, last_reminded_days FROM renewals renewal
          WHERE id = ANY ($1) AND ${IS_OPEN_SQL} ORDER BY id FOR UPDATE
       ),
       reminded AS (
         UPDATE renewals renewal
            SET last_reminded_days = given.days, price = coalesce(given.price, renewal.price)
           FROM before JOIN given USING (id)
          WHERE renewal.id = before.id
            AND (before.last_reminded_days IS NULL OR given.days < before.last_reminded_days)
         RETURNING renewal.*, obstacle, before.last_reminded_days AS reminded_before
       )
       SELECT log_event(user_id, 'renewal.planned',
                ${eventDataSql('reminded', `'planned_at', iso_text(due_at), 'reason', obstacle`)})
         FROM reminded WHERE reminded_before IS NULL OR obstacle IS NOT NULL
        ORDER BY date_end_before, proxy_id`,
      [
        renewals.map(({ id }) => id),
        renewals.map(({ days }) => days),
        renewals.map(({ price }) => price),
        renewals.map(({ obstacle }) => obstacle),
      ],
    );
  }
}
