import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { queryRows } from '../database';
import { ProviderUnavailable } from '../provider';

/** A piece of the catalog as the replicas share it. Moments are the database's, in microseconds since 1970: exact numbers. */
export interface StoredCopy {
  readonly key: string;
  readonly value: unknown;
  /** Before the provider was asked for it. */
  readonly fetchedAt: number;
  /** When it was fetched, or corrected after that. */
  readonly changedAt: number;
  readonly ageMs: number;
}

interface SharedRow extends Omit<StoredCopy, 'fetchedAt'> {
  /** Null until the first refresh has come to its end. */
  readonly fetchedAt: number | null;
  /** The end of the lease of who refreshes it. */
  readonly lease: number | null;
  readonly hasLapsed: boolean | null;
}

const isFetched = (row: SharedRow | undefined): row is SharedRow & StoredCopy =>
  row !== undefined && row.fetchedAt !== null;

/**
 * Longer than a read waits for its permit and an ordinary answer takes. The others do not wait for a refresh that takes longer: they
 * ask too, in case the one that held the lease is gone.
 */
const LEASE_MS = 15_000;
const POLL_MS = 100;
/** Of two changes the earlier one may be committed last. */
const COMMIT_ORDER_SECONDS = 5;

const micros = (moment: string): string => `(extract(epoch FROM ${moment}) * 1000000)::bigint`;
const moment = (parameter: string): string =>
  `timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond'`;

const COPY = `key, value, ${micros('fetched_at')} AS "fetchedAt", ${micros('changed_at')} AS "changedAt",
  extract(epoch FROM clock_timestamp() - fetched_at)::float8 * 1000 AS "ageMs"`;

/** The copy of the catalog in the database: one for all replicas, and there when they start. */
@Injectable()
export class SharedCopies {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /** Some may come that were there before. */
  changedSince(changedAt: number): Promise<StoredCopy[]> {
    return queryRows(
      this.dataSource,
      `SELECT ${COPY} FROM catalogue_copies
        WHERE value IS NOT NULL AND changed_at > ${moment('$1')} - make_interval(secs => $2)`,
      [changedAt, COMMIT_ORDER_SECONDS],
    );
  }

  /** Those of them that are there. */
  read(keys: readonly string[]): Promise<StoredCopy[]> {
    return queryRows(
      this.dataSource,
      `SELECT ${COPY} FROM catalogue_copies WHERE value IS NOT NULL AND key = ANY ($1)`,
      [keys],
    );
  }

  /**
   * A younger copy than the one that the caller knows. Asks the provider, unless another replica does or just has: then it is that
   * one's answer, or its failure.
   *
   * @param known `fetchedAt` of the caller's copy
   * @throws ProviderError
   */
  async refresh(key: string, known: number | null, ask: () => Promise<unknown>): Promise<StoredCopy> {
    const lease = await this.takeLease(key, known);
    if (lease === null) return this.waitForAnother(key, known, ask);
    try {
      return await this.store(key, await ask(), lease);
    } catch (error) {
      await this.release(key, lease).catch(() => undefined);
      throw error;
    }
  }

  /** Takes from a stock what was sold. It is as old as before. */
  async subtract(key: string, count: number): Promise<StoredCopy | undefined> {
    const [copy] = await queryRows<StoredCopy>(
      this.dataSource,
      `UPDATE catalogue_copies SET value = to_jsonb(greatest(0, value::int - $2)), changed_at = clock_timestamp()
        WHERE key = $1 AND value IS NOT NULL
       RETURNING ${COPY}`,
      [key, count],
    );
    return copy;
  }

  /** Deletes all of a kind but the youngest. */
  async keepYoungest(kind: string, count: number): Promise<void> {
    await queryRows(
      this.dataSource,
      `DELETE FROM catalogue_copies
        WHERE key IN (SELECT key FROM catalogue_copies WHERE key LIKE $1 ORDER BY changed_at DESC OFFSET $2)`,
      [`${kind}/%`, count],
    );
  }

  /** Gives the end of the lease, which names it; null when another replica has one, or has a younger copy. */
  private async takeLease(key: string, known: number | null): Promise<number | null> {
    const [taken] = await queryRows<{ lease: number }>(
      this.dataSource,
      `INSERT INTO catalogue_copies AS copy (key, refreshing_until)
       VALUES ($1, clock_timestamp() + make_interval(secs => $3))
       ON CONFLICT (key) DO UPDATE SET refreshing_until = excluded.refreshing_until
        WHERE (copy.fetched_at IS NULL OR ${micros('copy.fetched_at')} = $2::bigint)
          AND (copy.refreshing_until IS NULL OR copy.refreshing_until <= clock_timestamp())
       RETURNING ${micros('refreshing_until')} AS lease`,
      [key, known, LEASE_MS / 1000],
    );
    return taken?.lease ?? null;
  }

  private async waitForAnother(
    key: string,
    known: number | null,
    ask: () => Promise<unknown>,
  ): Promise<StoredCopy> {
    for (let seen: number | undefined; ; await pause(POLL_MS)) {
      const row = await this.readRow(key);
      if (isFetched(row) && row.fetchedAt !== known) return row;
      if (!row || row.hasLapsed) return this.refresh(key, known, ask);
      if (row.lease === null || row.lease !== (seen ?? row.lease)) {
        throw new ProviderUnavailable('another replica asked in vain');
      }
      seen = row.lease;
    }
  }

  private async readRow(key: string): Promise<SharedRow | undefined> {
    const [row] = await queryRows<SharedRow>(
      this.dataSource,
      `SELECT ${COPY}, ${micros('refreshing_until')} AS lease, refreshing_until <= clock_timestamp() AS "hasLapsed"
         FROM catalogue_copies WHERE key = $1`,
      [key],
    );
    return row;
  }

  /** It is as old as the lease. Late, after another replica has stored a younger one, it is of no use. */
  private async store(key: string, value: unknown, lease: number): Promise<StoredCopy> {
    const [stored] = await queryRows<StoredCopy>(
      this.dataSource,
      `INSERT INTO catalogue_copies AS copy (key, value, fetched_at, changed_at)
       VALUES ($1, $2::jsonb, ${moment('$3')}, clock_timestamp())
       ON CONFLICT (key) DO UPDATE
          SET value = excluded.value, fetched_at = excluded.fetched_at, changed_at = excluded.changed_at, refreshing_until = NULL
        WHERE copy.fetched_at IS NULL OR copy.fetched_at < excluded.fetched_at
       RETURNING ${COPY}`,
      [key, JSON.stringify(value), lease - LEASE_MS * 1000],
    );
    if (stored) return stored;
    const younger = await this.readRow(key);
    if (!isFetched(younger)) throw new Error(`the copy of ${key} is gone`);
    return younger;
  }

  private async release(key: string, lease: number): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE catalogue_copies SET refreshing_until = NULL WHERE key = $1 AND ${micros('refreshing_until')} = $2`,
      [key, lease],
    );
  }
}
