import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../../config';
import { databaseTime, queryRow, queryRows } from '../../database';
import { type LeasedRun, Jobs } from '../../jobs';
import { CLOSED_FOR_MAINTENANCE, Maintenance, REFERENCE_PREFIX_SQL } from '../../orders';
import { type ListedProxy, ProxyProvider, type UnreadRow } from '../../provider';
import { MissingProxiesService } from './missing-proxies.service';

const NOTHING_FOUND = {
  /** Counts all proxies at the provider, even those that are not ours. */
  listed: 0,
  /** Proxies with changed data, and proxies that are listed again. */
  changed: 0,
  /** Changed proxies whose rental was extended without an open order. */
  extended: 0,
  unmatched: 0,
  withdrawn: 0,
  /** Missing proxies that were not withdrawn, because there are too many of them. Staff decide. */
  implausible: 0,
  unread_foreign: 0,
  /** Unreadable rows of our proxies or with our order references. They are not compared. */
  unread_own: 0,
  /** Unreadable rows that may describe our proxies. If there are any, absences are not counted. */
  unread_unknown: 0,
};
type SweepReport = Readonly<typeof NOTHING_FOUND>;
type UnreadCounts = Pick<SweepReport, 'unread_foreign' | 'unread_own' | 'unread_unknown'>;

interface TakenOver {
  readonly id: number;
  readonly isExtended: boolean;
}

interface Absences {
  readonly rented: number;
  readonly missing: number;
}

/** Long, because each page waits for a rate permit. */
const LONGEST_PAGE_SECONDS = 180;
const LONGEST_LEASE_SECONDS = 60;
const SHORTEST_LEASE_SECONDS = 5;

/** Short, because all customers wait during maintenance. */
const MAINTENANCE_INTERVAL_SECONDS = 60;

/** Number of missing proxies that is always plausible, even if only a few are rented. */
const ALWAYS_PLAUSIBLE = 20;
/** Percentage of rented proxies that may be missing before staff have to check the listing. */
const PLAUSIBLE_PERCENT = 5;

/** Older sweeps are deleted, because not even maintenance reads them. */
const COMPLETED_RETENTION_DAYS = 30;

const COMPARED_AT_ONCE = 50_000;

/**
 * A row stored with a sweep's sightings, to prove that they still exist. Their table is UNLOGGED, so a crash
 * empties it. If this row is gone, the sweep is abandoned, because every proxy would seem missing.
 */
const sweepMark = (startedAt: Date): string => `sweep of ${startedAt.toISOString()}`;

/** SQL for the rows of a page. `$1` is the provider's name, `$2` the page. */
const PAGE = `jsonb_to_recordset($2::jsonb) AS listed (
  id text, "orderReference" text, host text, port text, login text, password text, type text, country text,
  version text, date_start timestamptz, date_end timestamptz)`;

/** A listing is no snapshot, so only proxies absent twice are missing. Staff decide if there are too many. */
@Injectable()
export class SweepService {
  private readonly logger = new Logger(SweepService.name);

  constructor(
    private readonly dataSource: DataSource,
    private readonly provider: ProxyProvider,
    private readonly missingProxies: MissingProxiesService,
    maintenance: Maintenance,
    { sweep: { intervalSeconds } }: AppConfig,
    jobs: Jobs,
  ) {
    jobs.run({
      name: 'sweep',
      everySeconds: intervalSeconds,
      dueForSeconds: async () =>
        (await maintenance.isActive())
          ? Math.min(intervalSeconds, MAINTENANCE_INTERVAL_SECONDS)
          : intervalSeconds,
      // A failed sweep is retried when its lease ends: after one interval or a minute, whichever is shorter.
      leaseSeconds: Math.min(LONGEST_LEASE_SECONDS, Math.max(SHORTEST_LEASE_SECONDS, intervalSeconds)),
      longestStepSeconds: LONGEST_PAGE_SECONDS,
      execute: (run) => this.sweep(run),
    });
  }

  private async sweep(run: LeasedRun): Promise<SweepReport> {
    const startedAt = await databaseTime(this.dataSource);
    await queryRows(this.dataSource, 'TRUNCATE sweep_sightings');
    await this.recordSightings([sweepMark(startedAt)]);
    const report = { ...NOTHING_FOUND };
    let pageRequestedAt = startedAt;
    for await (const { proxies: page, unread } of this.provider.allProxies()) {
      await run.renew(report);
      await this.recordSightings([...page, ...unread].flatMap(({ id }) => id ?? []));
      const takenOver = await this.takeOverChanges(page, pageRequestedAt);
      report.changed += takenOver.length;
      report.extended += this.logExtended(takenOver);
      report.unmatched += await this.storeUnmatchedProxies(page, pageRequestedAt);
      if (unread.length > 0) {
        const counts = await this.markUnread(unread);
        report.unread_foreign += counts.unread_foreign;
        report.unread_own += counts.unread_own;
        report.unread_unknown += counts.unread_unknown;
      }
      report.listed += page.length + unread.length;
      pageRequestedAt = await databaseTime(this.dataSource);
    }
    const absences = await this.recordAbsences(run, startedAt, report);
    const isCounted = report.unread_unknown === 0;
    if (isCounted && !isPlausible(absences)) report.implausible = absences.missing;
    else if (isCounted && absences.missing > 0) {
      report.withdrawn = await this.missingProxies.withdraw(this.dataSource);
    }
    await this.recordCompletion(startedAt, report.listed);
    this.logReport(report);
    return report;
  }

  /** Records for renewals and maintenance that everything listed since `beganAt` has been compared. */
  private async recordCompletion(beganAt: Date, listed: number): Promise<void> {
    await queryRows(
      this.dataSource,
      `WITH forgotten AS (
         DELETE FROM completed_sweeps
          WHERE began_at < now() - make_interval(days => $3)
                -- A sweep dated after this one began before the database's clock was set back.
                OR began_at > $1
       )
       INSERT INTO completed_sweeps (began_at, listed) VALUES ($1, $2)`,
      [beganAt, listed, COMPLETED_RETENTION_DAYS],
    );
  }

  private logReport(report: SweepReport): void {
    const { listed, changed, unmatched, withdrawn, implausible } = report;
    const discrepancies = `${changed} changed, ${unmatched} new unmatched proxies, ${withdrawn} withdrawn`;
    const text = `the provider lists ${listed} proxies; ${discrepancies}`;
    if (report.unread_own + report.unread_unknown > 0) {
      const unread = `${report.unread_own} rows of ours and ${report.unread_unknown} of unknown owners`;
      this.logger.error(`the provider lists ${unread} that cannot be read: staff must ask the provider`);
    }
    if (implausible > 0) {
      this.logger.error(`${text}; ${implausible} are missing, implausibly many: staff have to decide`);
    } else if (unmatched + withdrawn > 0) this.logger.warn(text);
    else if (changed > 0) this.logger.log(text);
    else this.logger.debug(text);
  }

  private logExtended(changed: readonly TakenOver[]): number {
    const ids = changed.filter(({ isExtended }) => isExtended).map(({ id }) => id);
    if (ids.length > 0) this.logger.warn(`proxies ${ids.join(', ')} end later than any order accounts for`);
    return ids.length;
  }

  private async recordSightings(ids: readonly string[]): Promise<void> {
    await queryRows(
      this.dataSource,
      'INSERT INTO sweep_sightings SELECT DISTINCT unnest($1::text[]) ON CONFLICT DO NOTHING',
      [ids],
    );
  }

  /** Skips proxies that an order or a type change may have changed since the page was requested. */
  private async takeOverChanges(page: readonly ListedProxy[], requestedAt: Date): Promise<TakenOver[]> {
    return queryRows<TakenOver>(
      this.dataSource,
      `WITH changing AS MATERIALIZED (
         SELECT proxies.id AS proxy_id, proxies.date_end AS date_end_before,
                is_prolonged(proxies.date_end, listed.date_end) AS is_extended, listed.*
           FROM proxies, ${PAGE}
          WHERE proxies.provider = $1 AND proxies.provider_proxy_id = listed.id AND refunded_at IS NULL
            AND (absences <> 0
                 OR (listed.type IN ('http', 'socks') AND listed.type <> proxies.proxy_type)
                 OR (proxies.host, proxies.port, proxies.login, proxies.password, proxies.date_start,
                     proxies.date_end)
                    IS DISTINCT FROM
                    (listed.host, listed.port, listed.login, listed.password, listed.date_start,
                     listed.date_end))
            AND NOT EXISTS (SELECT FROM orders
                             WHERE orders.proxy_id = proxies.id
                               AND (closed_at IS NULL OR closed_at >= $3
                                    -- For a day after an order, an earlier expiry is ignored, because
                                    -- listings lag.
                                    OR (listed.date_end < proxies.date_end
                                        AND closed_at > now() - interval '1 day')))
            AND NOT EXISTS (SELECT FROM proxy_type_changes change
                             WHERE change.proxy_id = proxies.id
                               AND (settled_at >= $3 OR (settled_at IS NULL AND attempt_until >= $3)))
          ORDER BY proxies.id FOR NO KEY UPDATE OF proxies
       ),
       found AS (
         INSERT INTO found_prolongations (proxy_id, date_end_before, date_end)
         SELECT proxy_id, date_end_before, date_end FROM changing
          WHERE ${CLOSED_FOR_MAINTENANCE} AND is_extended
       )
       UPDATE proxies
          SET host = changing.host, port = changing.port, login = changing.login,
              password = changing.password,
              proxy_type = CASE WHEN changing.type IN ('http', 'socks') THEN changing.type
                                ELSE proxies.proxy_type END,
              date_start = changing.date_start, date_end = changing.date_end,
              active = proxies.active OR changing.date_end > now(), absences = 0, withdrawn_at = NULL
         FROM changing
        WHERE proxies.id = changing.proxy_id
       RETURNING proxies.id, changing.is_extended AS "isExtended"`,
      [this.provider.name, jsonOf(page), requestedAt],
    );
  }

  /** Skips a proxy if its order is open or was closed after the page was requested. */
  private async storeUnmatchedProxies(page: readonly ListedProxy[], requestedAt: Date): Promise<number> {
    const unmatched = await queryRows(
      this.dataSource,
      `INSERT INTO unmatched_proxies (provider, provider_proxy_id, order_reference, host, port, login,
                            password, proxy_type, country, version, date_start, date_end)
       SELECT $1, id, "orderReference", host, port, login, password, type, country, version, date_start,
         date_end
         FROM ${PAGE}
        WHERE starts_with("orderReference", ${REFERENCE_PREFIX_SQL})
          AND NOT EXISTS (SELECT FROM proxies WHERE provider = $1 AND provider_proxy_id = listed.id)
          AND NOT EXISTS (SELECT FROM orders leader JOIN orders member ON member.batch_id = leader.id
                           WHERE leader.order_reference = listed."orderReference"
                             AND (member.closed_at IS NULL OR member.closed_at >= $3))
       ON CONFLICT DO NOTHING
       RETURNING id`,
      [this.provider.name, jsonOf(page), requestedAt],
    );
    return unmatched.length;
  }

  /** Counts unreadable rows by owner. Our proxies among them become unconfirmed rather than missing. */
  private markUnread(rows: readonly UnreadRow[]): Promise<UnreadCounts> {
    return queryRow(
      this.dataSource,
      `WITH odd AS MATERIALIZED (
         SELECT proxies.id AS proxy_id,
                CASE WHEN proxies.id IS NOT NULL OR odd.id IS NOT NULL AND is_ours THEN 'own'
                     WHEN reference IS NULL OR odd.id IS NULL AND (reference = '' OR is_ours) THEN 'unknown'
                     ELSE 'foreign' END AS owner
           FROM unnest($2::text[], $3::text[]) AS odd (id, reference)
           CROSS JOIN LATERAL (SELECT starts_with(reference, ${REFERENCE_PREFIX_SQL}) AS is_ours) AS compared
           LEFT JOIN proxies ON provider = $1 AND provider_proxy_id = odd.id
       ),
       locked AS MATERIALIZED (
         SELECT id FROM proxies
          WHERE id IN (SELECT proxy_id FROM odd) AND absences <> -1 AND withdrawn_at IS NULL
          ORDER BY id FOR NO KEY UPDATE
       ),
       marked AS (
         UPDATE proxies SET absences = -1 WHERE id = ANY (ARRAY(SELECT id FROM locked))
       )
       SELECT count(*) FILTER (WHERE owner = 'foreign') AS unread_foreign,
              count(*) FILTER (WHERE owner = 'own') AS unread_own,
              count(*) FILTER (WHERE owner = 'unknown') AS unread_unknown
         FROM odd`,
      [this.provider.name, rows.map(({ id }) => id), rows.map(({ orderReference }) => orderReference)],
    );
  }

  /** Counts absences or, if an unreadable row may be a missing proxy, sets them to -1 (unconfirmed). */
  private async recordAbsences(run: LeasedRun, startedAt: Date, soFar: SweepReport): Promise<Absences> {
    const last = await queryRow<{ id: number | null }>(this.dataSource, 'SELECT max(id) AS id FROM proxies');
    const absences = { rented: 0, missing: 0 };
    for (let after = 0; after < (last.id ?? 0); after += COMPARED_AT_ONCE) {
      await run.renew(soFar);
      const compared = await queryRow<Absences & { comparable: boolean }>(
        this.dataSource,
        `WITH mark AS (
           SELECT FROM sweep_sightings WHERE provider_proxy_id = $5
         ),
         rented AS MATERIALIZED (
           SELECT id, absences, withdrawn_at, refunded_at, sighted.provider_proxy_id IS NULL AS is_missing
             FROM proxies LEFT JOIN sweep_sightings sighted USING (provider_proxy_id)
            WHERE id > $3 AND id <= $4 AND provider = $1 AND date_end > now() AND created_at < $2
         ),
         locked AS MATERIALIZED (
           SELECT id FROM proxies
            WHERE id > $3 AND id <= $4 AND id IN (SELECT id FROM rented WHERE is_missing)
              AND (absences = 0 OR absences < 2 AND $6) AND EXISTS (SELECT FROM mark)
            ORDER BY id FOR NO KEY UPDATE
         ),
         absent AS (
           UPDATE proxies SET absences = CASE WHEN $6 THEN greatest(absences, 0) + 1 ELSE -1 END
            WHERE id = ANY (ARRAY(SELECT id FROM locked))
         )
         SELECT count(*) FILTER (WHERE refunded_at IS NULL) AS rented,
                -- Also count proxies withdrawn in the last day, because a faulty listing may shrink little by
                -- little. Do not count refunded proxies, which are deleted at the provider.
                count(*) FILTER (
                  WHERE is_missing AND refunded_at IS NULL
                    AND (withdrawn_at IS NULL
                         OR absences = 2 AND withdrawn_at > now() - interval '1 day')
                ) AS missing,
                EXISTS (SELECT FROM mark) AS comparable
           FROM rented`,
        [
          this.provider.name,
          startedAt,
          after,
          after + COMPARED_AT_ONCE,
          sweepMark(startedAt),
          soFar.unread_unknown === 0,
        ],
      );
      if (!compared.comparable) throw new Error('the sightings of the sweep are gone');
      absences.rented += compared.rented;
      absences.missing += compared.missing;
    }
    return absences;
  }
}

const isPlausible = ({ rented, missing }: Absences): boolean =>
  missing <= Math.max(ALWAYS_PLAUSIBLE, (rented * PLAUSIBLE_PERCENT) / 100);

const jsonOf = (page: readonly ListedProxy[]): string =>
  JSON.stringify(
    page.map(({ dateStart, dateEnd, ...proxy }) => ({ ...proxy, date_start: dateStart, date_end: dateEnd })),
  );
