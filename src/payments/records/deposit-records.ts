import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import {
  RowWaiters,
  changeOfUser,
  Notifier,
  preparedRows,
  type Queryable,
  queryRow,
  queryRows,
} from '../../database';
import type { PageRequest } from '../../http';
import { RetryClockCorrection } from '../../jobs';
import type { Idempotency } from '../../orders';
import { type PaymentMark, RETRY_WITHIN_SQL } from '../provider/payment-provider';
import type { DepositOut } from './deposit.dto';

export const SHOWN_STATE_SQL = `CASE WHEN deposits.refunded >= deposits.amount THEN 'refunded'
  ELSE deposits.state END`;

export const DEPOSIT_COLUMNS = `id, ${SHOWN_STATE_SQL} AS state, amount, 'RUB' AS currency,
  CASE WHEN state = 'pending' THEN payment_url END AS payment_url, refunded, created_at, expires_at,
  closed_at`;

/** Columns for the customer only: staff do not see the email address. */
const OWN_COLUMNS = `${DEPOSIT_COLUMNS}, receipt_email`;

export interface NewDeposit {
  readonly amount: string;
  /** `null` to use the address of the customer's last deposit. */
  readonly receiptEmail: string | null;
  /** If false, no email address is stored. */
  readonly hasReceipt: boolean;
}

/** `isSame` means that the request is identical to the one that created the deposit. */
interface PlacedDeposit {
  readonly id: number;
  readonly isNew: boolean;
  readonly isSame: boolean;
}

/** A deposit whose payment may not exist yet. */
export interface WantedPayment extends PaymentMark {
  readonly amount: string;
  readonly receiptEmail: string | null;
  /** Request body; null before the first call. */
  readonly request: string | null;
}

const WANTED_COLUMNS = `id AS "depositId", payment_key AS "paymentKey", user_id AS "userId", amount,
  request, receipt_email AS "receiptEmail", (SELECT environment FROM installation) AS environment,
  idempotency_key AS "idempotencyKey"`;

/** Deposit whose payment must be read, or created if `paymentId` is null. */
export interface DueDeposit extends WantedPayment {
  readonly paymentId: string | null;
  readonly ageSeconds: number;
}

export const MAX_PENDING_DEPOSITS = 20;
/** An estimate: only the provider decides when a payment page expires. */
const PAYABLE_MINUTES = 60;
/** Short, because a notification that arrives before the payment's id is stored is ignored. */
const FIRST_CHECK_SECONDS = 3;
/** The pause between reads is a quarter of the deposit's age, within these bounds. */
const SHORTEST_PAUSE_SECONDS = 5;
const LONGEST_PAUSE_SECONDS = 600;
/** Minimum time between reads of one payment, however many notifications about it arrive. */
const NOTIFIED_AGAIN_SECONDS = 1;
const NOTIFIED_BEFORE_SECONDS = 60;
/**
 * If reconciliation with the provider has found no payment this long after a deposit's creation, there is
 * none, and the deposit may expire.
 */
const EXPIRES_UNSEEN_MINUTES = 120;

@Injectable()
export class DepositRecords {
  readonly awaited: RowWaiters<{ readonly id: number; readonly state: DepositOut['state'] }>;

  constructor(
    private readonly dataSource: DataSource,
    notifier: Notifier,
    clockCorrection: RetryClockCorrection,
  ) {
    clockCorrection.add({
      table: 'deposits',
      column: 'next_read_at',
      where: 'true',
      longestPause: `interval '${LONGEST_PAUSE_SECONDS} seconds'`,
    });
    this.awaited = new RowWaiters(notifier, 'deposits', (waits) =>
      preparedRows(dataSource, 'SELECT id, state FROM deposits WHERE id = ANY ($1)', [[...waits.keys()]]),
    );
  }

  async findByKey(
    userId: number,
    { amount }: NewDeposit,
    { key, requestHash }: Idempotency,
    queryable: Queryable = this.dataSource,
  ): Promise<PlacedDeposit | null> {
    const [earlier] = await queryRows<{ id: number; isSame: boolean }>(
      queryable,
      // A deposit recreated after a restore has no hash, so its amount is compared instead.
      `SELECT id, coalesce(request_hash = $3, amount = $4) AS "isSame" FROM deposits
        WHERE user_id = $1 AND idempotency_key = $2`,
      [userId, key, requestHash, amount],
    );
    return earlier ? { ...earlier, isNew: false } : null;
  }

  /** @returns null if the customer has too many pending deposits */
  place(
    userId: number,
    provider: string,
    wanted: NewDeposit,
    idempotency: Idempotency,
  ): Promise<PlacedDeposit | null> {
    const { amount, receiptEmail, hasReceipt } = wanted;
    const { key, requestHash } = idempotency;
    // Lock first: a statement that waits for the lock would not see deposits stored during the wait.
    return changeOfUser(this.dataSource, userId, async (manager) => {
      const [placed] = await queryRows<{ id: number }>(
        manager,
        `INSERT INTO deposits (user_id, provider, amount, idempotency_key, request_hash, receipt_email,
                               expires_at, next_read_at)
         SELECT $1, $2, $3, $4, $5,
                CASE WHEN $7 THEN coalesce($6, (
                  SELECT receipt_email FROM deposits WHERE user_id = $1 AND receipt_email IS NOT NULL
                   ORDER BY id DESC LIMIT 1)) END,
                now() + make_interval(mins => ${PAYABLE_MINUTES}),
                now() + make_interval(secs => ${FIRST_CHECK_SECONDS})
          WHERE (SELECT count(*) FROM deposits
                  WHERE user_id = $1 AND state = 'pending') < ${MAX_PENDING_DEPOSITS}
         ON CONFLICT (user_id, idempotency_key) DO NOTHING RETURNING id`,
        [userId, provider, amount, key, requestHash, receiptEmail, hasReceipt],
      );
      if (placed) return { ...placed, isNew: true, isSame: true };
      return this.findByKey(userId, wanted, idempotency, manager);
    });
  }

  async find(userId: number, id: number): Promise<DepositOut | null> {
    const [deposit] = await preparedRows<DepositOut>(
      this.dataSource,
      `SELECT ${OWN_COLUMNS} FROM deposits WHERE id = $1 AND user_id = $2`,
      [id, userId],
    );
    return deposit ?? null;
  }

  list(userId: number, { cursor, limit }: PageRequest): Promise<DepositOut[]> {
    return preparedRows<DepositOut>(
      this.dataSource,
      `SELECT ${OWN_COLUMNS} FROM deposits WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
      [userId, cursor ?? Number.MAX_SAFE_INTEGER, limit],
    );
  }

  /** @returns null if the payment's creation is confirmed, or can no longer be retried */
  async findWanted(id: number): Promise<(WantedPayment & { readonly isRefused: boolean }) | null> {
    const [wanted] = await queryRows<WantedPayment & { readonly isRefused: boolean }>(
      this.dataSource,
      `SELECT ${WANTED_COLUMNS}, state = 'canceled' AS "isRefused" FROM deposits
        WHERE id = $1 AND provider_payment_id IS NULL
          -- A creation is retried only while the provider remembers its key.
          AND (state = 'canceled' OR (state = 'pending' AND created_at > now() - ${RETRY_WITHIN_SQL}))`,
      [id],
    );
    return wanted ?? null;
  }

  /** Keeps the first request, because every retry must send the same body. */
  async storeRequest(id: number, request: string): Promise<string> {
    const stored = await queryRow<{ request: string }>(
      this.dataSource,
      'UPDATE deposits SET request = coalesce(request, $2) WHERE id = $1 RETURNING request',
      [id, request],
    );
    return stored.request;
  }

  /** Claims due deposits and schedules their next reads, so that a crash only delays the reads. */
  claimDue(provider: string, capacity: number): Promise<DueDeposit[]> {
    return preparedRows<DueDeposit>(
      this.dataSource,
      `UPDATE deposits
          SET read_at = now(),
              next_read_at = now() + make_interval(secs => least(${LONGEST_PAUSE_SECONDS},
                greatest(${SHORTEST_PAUSE_SECONDS}, extract(epoch FROM now() - created_at) / 4)))
        WHERE id IN (SELECT id FROM deposits WHERE next_read_at <= now() AND provider = $1
                      ORDER BY next_read_at LIMIT $2 FOR UPDATE SKIP LOCKED)
       RETURNING ${WANTED_COLUMNS}, provider_payment_id AS "paymentId",
                 extract(epoch FROM now() - created_at)::double precision AS "ageSeconds"`,
      [provider, capacity],
    );
  }

  /**
   * Moves deposits to the front of the read schedule after notifications about their payments.
   * @returns the ids of those payments that belong to pending deposits
   */
  async bringForward(provider: string, paymentIds: readonly string[]): Promise<string[]> {
    const found = await queryRows<{ paymentId: string }>(
      this.dataSource,
      `UPDATE deposits
          SET next_read_at = least(next_read_at,
                CASE WHEN read_at > now() - make_interval(secs => ${NOTIFIED_AGAIN_SECONDS})
                     THEN read_at + make_interval(secs => ${NOTIFIED_AGAIN_SECONDS})
                     ELSE greatest(now() - make_interval(secs => ${NOTIFIED_BEFORE_SECONDS}),
                                   least(now(), (SELECT min(next_read_at) FROM deposits))) END)
        WHERE provider = $1 AND provider_payment_id = ANY ($2) AND next_read_at IS NOT NULL
       RETURNING provider_payment_id AS "paymentId"`,
      [provider, paymentIds],
    );
    return found.map(({ paymentId }) => paymentId);
  }

  async endedAmong(provider: string, paymentIds: readonly string[]): Promise<string[]> {
    const found = await queryRows<{ paymentId: string }>(
      this.dataSource,
      `SELECT provider_payment_id AS "paymentId" FROM deposits
        WHERE provider = $1 AND provider_payment_id = ANY ($2) AND next_read_at IS NULL`,
      [provider, paymentIds],
    );
    return found.map(({ paymentId }) => paymentId);
  }

  async cancelRefused(id: number, reason: string): Promise<void> {
    await queryRows(this.dataSource, endStatement('id = $2 AND provider_payment_id IS NULL', '$3::text'), [
      'canceled',
      id,
      reason,
    ]);
  }

  /** Expires a deposit if reconciliation, run long enough after its creation, has found no payment for it. */
  async expireUnseen(id: number): Promise<void> {
    await queryRows(
      this.dataSource,
      endStatement(`id = $2 AND provider_payment_id IS NULL AND EXISTS (
        SELECT FROM payment_comparisons
         WHERE provider = deposits.provider
           AND compared_to > created_at + make_interval(mins => ${EXPIRES_UNSEEN_MINUTES}))`),
      ['expired', id],
    );
  }
}

/**
 * Returns SQL that ends pending deposits. `$1` is their new state.
 * @param which SQL condition that selects the deposits
 * @param reason SQL expression
 */
export const endStatement = (which: string, reason = 'NULL'): string => `
  WITH ended AS (
    UPDATE deposits SET state = $1, closed_at = now(), next_read_at = NULL, provider_reason = ${reason}
     WHERE state = 'pending' AND ${which}
    RETURNING id, user_id, state, amount
  )
  SELECT id, log_event(user_id, 'deposit.canceled', jsonb_build_object(
           'deposit_id', id, 'state', state, 'amount', amount::text)) FROM ended`;
