import { Inject, Injectable, Logger } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { databaseTime, JobLease, queryRows } from '../database';
import { type ListedProxy, UpstreamProvider } from '../provider';
import { TAG_PREFIX_SQL } from './tag';

export interface SweepReport {
  /** What the upstream lists, ours and others'. */
  readonly listed: number;
  /** Whose host, port, login, password or end was taken over. */
  readonly changed: number;
  /** Under our tags, new, and of no order. */
  readonly orphans: number;
  /** Ours, rented still, and not listed for the second time in a row. */
  readonly missing: number;
}

/** How long a sweep may be silent, which waits for its turn at the upstream for each page, before another replica begins anew. */
const LONGEST_LEASE_SECONDS = 180;
const SHORTEST_LEASE_SECONDS = 5;

/** A page of a listing as a table, in the statements below. `$2` is the page, `$1` the provider's name. */
const PAGE = `jsonb_to_recordset($2::jsonb) AS listed (
  id text, tag text, host text, port text, login text, password text, type text, country text, version text,
  date_start timestamptz, date_end timestamptz)`;

/**
 * Holds everything the upstream lists against everything we have: what changed there is taken over, what only one side has is kept for
 * staff. The listing is no snapshot: an absence is believed the second time.
 */
@Injectable()
export class SweepService {
  private readonly logger = new Logger(SweepService.name);
  private readonly lease: JobLease;

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @Inject(UpstreamProvider) private readonly provider: UpstreamProvider,
  ) {
    this.lease = new JobLease(dataSource, 'sweep');
  }

  /** Sweeps when it is time and no other replica does. */
  async sweepWhenDue(intervalSeconds: number): Promise<SweepReport | null> {
    const leaseSeconds = Math.min(LONGEST_LEASE_SECONDS, Math.max(SHORTEST_LEASE_SECONDS, intervalSeconds));
    if (!(await this.lease.take({ intervalSeconds, leaseSeconds }))) return null;
    const report = await this.sweep();
    await this.lease.finish();
    return report;
  }

  private async sweep(): Promise<SweepReport> {
    const startedAt = await databaseTime(this.dataSource);
    await queryRows(this.dataSource, 'TRUNCATE sweep_sightings');
    let [listed, changed, orphans] = [0, 0, 0];
    let pageAskedAt = startedAt;
    for await (const page of this.provider.allProxies()) {
      await this.lease.renew();
      await this.noteSightings(page);
      changed += await this.takeOverChanges(page, pageAskedAt);
      orphans += await this.keepOrphans(page, pageAskedAt);
      listed += page.length;
      pageAskedAt = await databaseTime(this.dataSource);
    }
    await this.lease.renew();
    const missing = await this.noteAbsences(startedAt);
    const report = { listed, changed, orphans, missing };
    const text = `the upstream lists ${listed} proxies; ${changed} changed, ${orphans} new orphans, ${missing} newly missing`;
    if (orphans + missing > 0) this.logger.warn(text);
    else this.logger.debug(text);
    return report;
  }

  private async noteSightings(page: readonly ListedProxy[]): Promise<void> {
    await queryRows(
      this.dataSource,
      'INSERT INTO sweep_sightings SELECT DISTINCT unnest($1::text[]) ON CONFLICT DO NOTHING',
      [page.map(({ id }) => id)],
    );
  }

  /** The end of a proxy is left to its prolongation while one is open, or was settled after the page was asked for. */
  private async takeOverChanges(page: readonly ListedProxy[], askedAt: Date): Promise<number> {
    const changed = await queryRows(
      this.dataSource,
      `UPDATE proxies
          SET host = listed.host, port = listed.port, login = listed.login, password = listed.password,
              date_start = listed.date_start, date_end = listed.date_end, active = listed.date_end > now(), absences = 0
         FROM ${PAGE}
        WHERE proxies.provider = $1 AND proxies.provider_proxy_id = listed.id
          AND (absences > 0 OR (proxies.host, proxies.port, proxies.login, proxies.password, proxies.date_start, proxies.date_end)
               IS DISTINCT FROM (listed.host, listed.port, listed.login, listed.password, listed.date_start, listed.date_end))
          AND NOT EXISTS (SELECT FROM orders
                           WHERE orders.proxy_id = proxies.id AND (closed_at IS NULL OR closed_at >= $3))
       RETURNING proxies.id`,
      [this.provider.name, this.json(page), askedAt],
    );
    return changed.length;
  }

  /** What an open order may still account for is not an orphan, nor what was settled after the page was asked for. */
  private async keepOrphans(page: readonly ListedProxy[], askedAt: Date): Promise<number> {
    const orphans = await queryRows(
      this.dataSource,
      `INSERT INTO orphans (provider, provider_proxy_id, tag, host, port, login, password, proxy_type, country, version,
                            date_start, date_end)
       SELECT $1, id, tag, host, port, login, password, type, country, version, date_start, date_end
         FROM ${PAGE}
        WHERE starts_with(tag, ${TAG_PREFIX_SQL})
          AND NOT EXISTS (SELECT FROM proxies WHERE provider = $1 AND provider_proxy_id = listed.id)
          AND NOT EXISTS (SELECT FROM orders WHERE orders.tag = listed.tag AND (closed_at IS NULL OR closed_at >= $3))
       ON CONFLICT DO NOTHING
       RETURNING id`,
      [this.provider.name, this.json(page), askedAt],
    );
    return orphans.length;
  }

  private async noteAbsences(startedAt: Date): Promise<number> {
    const absent = await queryRows<{ absences: number }>(
      this.dataSource,
      `UPDATE proxies SET absences = absences + 1
        WHERE provider = $1 AND absences < 2 AND date_end > now() AND created_at < $2
          AND NOT EXISTS (SELECT FROM sweep_sightings seen WHERE seen.provider_proxy_id = proxies.provider_proxy_id)
       RETURNING absences`,
      [this.provider.name, startedAt],
    );
    return absent.filter(({ absences }) => absences === 2).length;
  }

  private json(page: readonly ListedProxy[]): string {
    return JSON.stringify(
      page.map(({ dateStart, dateEnd, ...proxy }) => ({
        ...proxy,
        date_start: dateStart,
        date_end: dateEnd,
      })),
    );
  }
}
