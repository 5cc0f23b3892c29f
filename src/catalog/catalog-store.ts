import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { IpVersion } from '../common';
import { queryRows } from '../database';
import { ProviderUnavailable } from '../provider';

/** Times are the database's, in Unix microseconds. */
export interface StoredEntry {
  readonly key: string;
  readonly value: unknown;
  /** Time just before the request to the provider. */
  readonly fetchedAt: number;
  /** Time of the fetch or of the last correction. */
  readonly changedAt: number;
  readonly ageMs: number;
}

interface StoredRow extends Omit<StoredEntry, 'fetchedAt'> {
  /** Null until the first fetch has ended. */
  readonly fetchedAt: number | null;
  /** End of the refreshing replica's lease. */
  readonly lease: number | null;
  /** Index into CALL_PRIORITIES. */
  readonly priority: number;
  readonly hasLapsed: boolean | null;
}

const isFetched = (row: StoredRow | undefined): row is StoredRow & StoredEntry =>
  row !== undefined && row.fetchedAt !== null;

export const PRICE_TABLE_KEY = 'prices';
export const countriesKey = (version: IpVersion): string => `countries/${version}`;
export const stockKey = (country: string, version: IpVersion): string => `stock/${version}/${country}`;
export const exactPriceKey = (version: IpVersion, days: number, count: number): string =>
  `price/${version}/${days}/${count}`;

/** Provider's price in roubles for one proxy, as a decimal string, by version and days. */
export type PriceTable = Readonly<Partial<Record<IpVersion, Readonly<Record<string, string>>>>>;

/** Long enough to get a rate permit and a normal response. After that, the lease holder is presumed dead. */
const LEASE_MS = 15_000;
const POLL_MS = 100;
/** Maximum number of seconds by which transactions may commit out of order. */
const COMMIT_ORDER_SECONDS = 5;

const micros = (time: string): string => `(extract(epoch FROM ${time}) * 1000000)::bigint`;
const timeOf = (parameter: string): string =>
  `timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond'`;

/**
 * Returns SQL that is true if a lease has lapsed. A lease that ends too far in the future has also lapsed,
 * because the database's clock must have been set back.
 */
const hasLapsed = (until: string): string =>
  `${until} NOT BETWEEN clock_timestamp() AND clock_timestamp() + interval '${LEASE_MS} ms'`;

const ENTRY = `key, value, ${micros('fetched_at')} AS "fetchedAt", ${micros('changed_at')} AS "changedAt",
  extract(epoch FROM clock_timestamp() - fetched_at)::float8 * 1000 AS "ageMs"`;

@Injectable()
export class CatalogStore {
  constructor(private readonly dataSource: DataSource) {}

  /** May also return entries that changed shortly before `changedAt`. */
  changedSince(changedAt: number): Promise<StoredEntry[]> {
    return queryRows(
      this.dataSource,
      `SELECT ${ENTRY} FROM catalog_copies
        WHERE value IS NOT NULL
          AND changed_at > least(${timeOf('$1')}, clock_timestamp()) - make_interval(secs => $2)`,
      [changedAt, COMMIT_ORDER_SECONDS],
    );
  }

  /** Returns SQL that is true if `changedSince` may find new entries, including late commits. */
  mayHaveChangedSince(changedAt: number): string {
    const time = timeOf(String(changedAt));
    return `${time} > clock_timestamp() - interval '${2 * COMMIT_ORDER_SECONDS} seconds'
            OR EXISTS (SELECT FROM catalog_copies WHERE value IS NOT NULL AND changed_at > ${time})`;
  }

  read(keys: readonly string[]): Promise<StoredEntry[]> {
    return queryRows(
      this.dataSource,
      `SELECT ${ENTRY} FROM catalog_copies WHERE value IS NOT NULL AND key = ANY ($1)`,
      [keys],
    );
  }

  /**
   * Returns an entry that is newer than the caller's. If another replica is already refreshing the key at the
   * same or a higher priority, waits for its entry or error instead of calling `fetch`.
   * @param known `fetchedAt` of the caller's entry
   * @param priority position of `fetch` in CALL_PRIORITIES
   * @throws ProviderError
   */
  async refresh(
    key: string,
    known: number | null,
    priority: number,
    fetch: () => Promise<unknown>,
  ): Promise<StoredEntry> {
    const lease = await this.takeLease(key, known, priority);
    if (lease === null) return this.awaitOther(key, known, priority, fetch);
    try {
      return await this.write(key, await fetch(), lease);
    } catch (error) {
      await this.release(key, lease).catch(() => undefined);
      throw error;
    }
  }

  subtract(key: string, count: number): Promise<StoredEntry | undefined> {
    return this.change(key, 'to_jsonb(greatest(0, value::int - $2))', count);
  }

  correct(key: string, value: unknown): Promise<StoredEntry | undefined> {
    return this.change(key, '$2::jsonb', JSON.stringify(value));
  }

  /** Changes an entry's value, but not its age. @param changed SQL for the value; `$2` is `parameter` */
  private async change(key: string, changed: string, parameter: unknown): Promise<StoredEntry | undefined> {
    const [entry] = await queryRows<StoredEntry>(
      this.dataSource,
      `UPDATE catalog_copies SET value = ${changed}, changed_at = clock_timestamp()
        WHERE key = $1 AND value IS NOT NULL
       RETURNING ${ENTRY}`,
      [key, parameter],
    );
    return entry;
  }

  /** @param kind the keys' prefix, up to the first slash */
  async keepYoungest(kind: string, count: number): Promise<void> {
    await queryRows(
      this.dataSource,
      `DELETE FROM catalog_copies
        WHERE key IN (SELECT key FROM catalog_copies WHERE key LIKE $1
                       ORDER BY changed_at DESC OFFSET $2)`,
      [`${kind}/%`, count],
    );
  }

  /** @returns the end of the lease, which identifies it; null if the lease was not taken */
  private async takeLease(key: string, known: number | null, priority: number): Promise<number | null> {
    const [taken] = await queryRows<{ lease: number }>(
      this.dataSource,
      `INSERT INTO catalog_copies AS entry (key, refreshing_until, refreshing_priority)
       VALUES ($1, clock_timestamp() + make_interval(secs => $3), $4)
       ON CONFLICT (key) DO UPDATE
          SET refreshing_until = excluded.refreshing_until, refreshing_priority = excluded.refreshing_priority
        WHERE (entry.fetched_at IS NULL OR ${micros('entry.fetched_at')} = $2::bigint)
          AND (entry.refreshing_until IS NULL OR ${hasLapsed('entry.refreshing_until')}
               OR entry.refreshing_priority > excluded.refreshing_priority)
       RETURNING ${micros('refreshing_until')} AS lease`,
      [key, known, LEASE_MS / 1000, priority],
    );
    return taken?.lease ?? null;
  }

  private async awaitOther(
    key: string,
    known: number | null,
    priority: number,
    fetch: () => Promise<unknown>,
  ): Promise<StoredEntry> {
    for (let seen: StoredRow | undefined; ; await pause(POLL_MS)) {
      const row = await this.readRow(key);
      if (isFetched(row) && row.fetchedAt !== known) return row;
      if (!row || row.hasLapsed) return this.refresh(key, known, priority, fetch);
      const isTakenOver = seen !== undefined && row.priority < seen.priority;
      if (row.lease === null || (row.lease !== (seen ?? row).lease && !isTakenOver)) {
        throw new ProviderUnavailable('the refresh by another replica failed');
      }
      seen = row;
    }
  }

  private async readRow(key: string): Promise<StoredRow | undefined> {
    const [row] = await queryRows<StoredRow>(
      this.dataSource,
      `SELECT ${ENTRY}, ${micros('refreshing_until')} AS lease, refreshing_priority AS priority,
              ${hasLapsed('refreshing_until')} AS "hasLapsed"
         FROM catalog_copies WHERE key = $1`,
      [key],
    );
    return row;
  }

  /**
   * Stores a value, with the start of the lease as its fetch time. If another replica has stored a newer
   * value in the meantime, returns that one instead. Replaces a stored value from the future, because the
   * database's clock must have been set back.
   */
  private async write(key: string, value: unknown, lease: number): Promise<StoredEntry> {
    const [written] = await queryRows<StoredEntry>(
      this.dataSource,
      `INSERT INTO catalog_copies AS entry (key, value, fetched_at, changed_at)
       VALUES ($1, $2::jsonb, ${timeOf('$3')}, clock_timestamp())
       ON CONFLICT (key) DO UPDATE
          SET value = excluded.value, fetched_at = excluded.fetched_at, changed_at = excluded.changed_at,
              refreshing_until = NULL
        WHERE entry.fetched_at IS NULL OR entry.fetched_at < excluded.fetched_at
           OR entry.fetched_at > clock_timestamp()
       RETURNING ${ENTRY}`,
      [key, JSON.stringify(value), lease - LEASE_MS * 1000],
    );
    if (written) return written;
    const younger = await this.readRow(key);
    if (!isFetched(younger)) throw new Error(`the catalog entry ${key} is gone`);
    return younger;
  }

  private async release(key: string, lease: number): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE catalog_copies SET refreshing_until = NULL
        WHERE key = $1 AND ${micros('refreshing_until')} = $2`,
      [key, lease],
    );
  }
}
