import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import { clientOutsideThePool, databaseTime, queryRows } from '../database';
import type { PaymentProvider } from '../payments';
import { ProxyProvider } from '../provider';
import { INVARIANTS, PAYMENT_INVARIANTS, PROVIDER_INVARIANTS } from './invariants';
import { type AuditScope, SCOPE_SQL } from './scopes';

export interface InvariantResult {
  readonly name: string;
  readonly violations: number;
  readonly rows: readonly unknown[];
}

export interface IntegrityReport {
  readonly ok: boolean;
  readonly invariants: readonly InvariantResult[];
}

export interface AuditOptions {
  readonly scope?: AuditScope;
  /** Whether to compare the database with the provider's complete listing. */
  readonly withProvider?: boolean;
  readonly payments?: PaymentProvider;
  readonly signal?: AbortSignal;
  readonly beforeEach?: (checked: number) => Promise<void>;
  /** Maximum time to check one invariant, in seconds; 0 for no limit. */
  readonly invariantSeconds?: number;
}

const SHOWN_ROWS = 20;

const PROVIDER_LISTING = `provider_listing AS (
  SELECT provider_proxy_id, listed_as, date_end FROM provider_listings WHERE audit = $2)`;

const PAYMENT_LISTING = `payment_listing AS (
  SELECT provider_proxy_id AS id, part[1] AS kind, part[2]::numeric AS value, part[3] AS currency,
         part[4] AS payment_id, date_end AS at
    FROM provider_listings, string_to_array(listed_as, ' ') AS part WHERE audit = $2),
limits AS (SELECT $1::timestamptz AS listed_at, $3::text AS provider, $4::timestamptz AS since)`;

const DAY_MS = 24 * 3600 * 1000;
/** How many days of payments and refunds to list. The payment provider lists the last three years. */
const LISTED_DAYS = {
  day: { payments: 3, refunds: 33, recorded: 2 },
  all: { payments: 3 * 365, refunds: 3 * 365, recorded: 3 * 365 - 1 },
} as const;

/** Checks all invariants in one consistent snapshot of the database. */
@Injectable()
export class IntegrityService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly upstream: ProxyProvider,
  ) {}

  /** @throws ProviderError, PaymentError if a listing could not be read completely */
  async run(options: AuditOptions = {}): Promise<IntegrityReport> {
    const {
      scope = 'all',
      withProvider = false,
      payments,
      signal,
      beforeEach,
      invariantSeconds = 0,
    } = options;
    const [audit, paymentAudit] = [randomUUID(), randomUUID()];
    const listedAt = withProvider ? await this.storeListing(audit) : undefined;
    const limits = payments ? await this.storePayments(paymentAudit, payments, options) : undefined;
    const session = clientOutsideThePool(this.dataSource);
    session.on('error', () => undefined);
    const end = (): void => void session.end().catch(() => undefined);
    signal?.addEventListener('abort', end);
    try {
      signal?.throwIfAborted();
      await session.connect();
      // Ends the running statement if this process dies. Not every system supports this.
      await session.query(`SET client_connection_check_interval = '5s'`).catch(() => undefined);
      await session.query(
        `SET statement_timeout = '${invariantSeconds}s'; SET idle_in_transaction_session_timeout = '5min';
         SET work_mem = '64MB'; SET max_parallel_workers_per_gather = 0`,
      );
      await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const invariants: InvariantResult[] = [];
      for (const { name, violations, ofDay = violations } of INVARIANTS) {
        await beforeEach?.(invariants.length);
        const statement = scope === 'day' ? ofDay : violations;
        if (statement !== null) invariants.push(await measure(session, name, SCOPE_SQL[scope], statement));
      }
      if (listedAt) {
        for (const { name, violations } of PROVIDER_INVARIANTS) {
          invariants.push(
            await measure(session, name, `WITH ${PROVIDER_LISTING}`, violations, [listedAt, audit]),
          );
        }
      }
      if (limits) {
        for (const { name, violations } of PAYMENT_INVARIANTS) {
          invariants.push(await measure(session, name, `WITH ${PAYMENT_LISTING}`, violations, limits));
        }
      }
      return { ok: invariants.every(({ violations }) => violations === 0), invariants };
    } finally {
      signal?.removeEventListener('abort', end);
      end();
      if (listedAt ?? limits) await this.forgetListings([audit, paymentAudit]).catch(() => undefined);
    }
  }

  private async storeListing(audit: string): Promise<Date> {
    const listedAt = await databaseTime(this.dataSource);
    for await (const { proxies, unread } of this.upstream.allProxies()) {
      // A proxy that could not be parsed counts as listed, with an unknown expiry.
      const rows = [...proxies, ...unread.map((row) => ({ ...row, dateEnd: null }))];
      const listed = rows.map(({ orderReference, ...row }) => ({ ...row, listedAs: orderReference }));
      await this.store(audit, listed);
    }
    return listedAt;
  }

  private async storePayments(
    audit: string,
    paymentProvider: PaymentProvider,
    { scope = 'all', beforeEach }: AuditOptions,
  ): Promise<unknown[]> {
    const listedAt = await databaseTime(this.dataSource);
    const days = LISTED_DAYS[scope];
    const since = (count: number) => new Date(listedAt.getTime() - count * DAY_MS);
    const hasSucceeded = ({ state }: { readonly state: string }) => state === 'succeeded';
    // Selects payments by capture time, because a deposit may be paid days after its creation.
    for await (const page of paymentProvider.paymentsSince(since(days.payments), 'captured_at')) {
      await beforeEach?.(0);
      const rows = page.rows.filter(hasSucceeded).map(({ id, amount, paidAt, createdAt }) => ({
        id,
        listedAs: `payment ${amount.value} ${amount.currency}`,
        dateEnd: paidAt ?? createdAt,
      }));
      await this.store(audit, rows);
    }
    for await (const page of paymentProvider.refundsSince(since(days.refunds))) {
      await beforeEach?.(0);
      const rows = page.rows.filter(hasSucceeded).map(({ id, amount, paymentId, createdAt }) => ({
        id,
        listedAs: `refund ${amount.value} ${amount.currency} ${paymentId}`,
        dateEnd: createdAt,
      }));
      await this.store(audit, rows);
    }
    return [listedAt, audit, paymentProvider.name, since(days.recorded)];
  }

  private async store(
    audit: string,
    rows: readonly { id: string | null; listedAs: string | null; dateEnd: Date | null }[],
  ): Promise<void> {
    await queryRows(
      this.dataSource,
      `INSERT INTO provider_listings (audit, provider_proxy_id, listed_as, date_end)
       SELECT $1, * FROM unnest($2::text[], $3::text[], $4::timestamptz[]) AS listed (id)
        WHERE id IS NOT NULL ON CONFLICT DO NOTHING`,
      [audit, rows.map(({ id }) => id), rows.map((row) => row.listedAs), rows.map((row) => row.dateEnd)],
    );
  }

  private async forgetListings(audits: readonly string[]): Promise<void> {
    await queryRows(
      this.dataSource,
      `DELETE FROM provider_listings WHERE audit = ANY ($1) OR listed_at < now() - interval '1 day'`,
      [audits],
    );
  }
}

async function measure(
  session: Client,
  name: string,
  source: string,
  statement: string,
  parameters: unknown[] = [],
): Promise<InvariantResult> {
  const { rows } = await session.query<{ violations: number; rows: unknown[] | null }>(
    `${source}, violations AS (${statement})
     SELECT (SELECT count(*) FROM violations) AS violations,
            (SELECT json_agg(shown) FROM (SELECT * FROM violations LIMIT ${SHOWN_ROWS}) AS shown) AS rows`,
    parameters,
  );
  const [found] = rows;
  if (!found) throw new Error(`the statement of ${name} returned no row`);
  return { name, violations: found.violations, rows: found.rows ?? [] };
}
