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

/** SQL for the public state of a row of `deposits`. */
export const SHOWN_STATE_SQL = `CASE WHEN deposits.refunded >= deposits.amount THEN 'refunded'
  ELSE deposits.state END`;

export const DEPOSIT_COLUMNS = `id, ${SHOWN_STATE_SQL} AS state, amount, 'RUB' AS currency,
  CASE WHEN state = 'pending' THEN payment_url END AS payment_url, refunded, created_at, expires_at,
  closed_at`;

/** Columns shown to the customer. Staff do not see the email address. */
const OWN_COLUMNS = `${DEPOSIT_COLUMNS}, receipt_email`;

export interface NewDeposit {
  readonly amount: string;
  /** Email address for the receipt; `null` to use the customer's last one, if any. */
  readonly receiptEmail: string | null;
  /** Whether payments have receipts. Otherwise, no address is stored. */
  readonly hasReceipt: boolean;
}

/** Deposit under an idempotency key, and whether it was created for the same request. */
interface PlacedDeposit {
  readonly id: number;
  readonly isNew: boolean;
  readonly isSame: boolean;
}

/** Deposit without a confirmed payment. */
export interface WantedPayment extends PaymentMark {
  readonly amount: string;
  readonly receiptEmail: string | null;
  /** Body of the request that creates the payment; null before the first call. */
  readonly request: string | null;
}

const WANTED_COLUMNS = `id AS "depositId", payment_key AS "paymentKey", user_id AS "userId", amount,
  request, receipt_email AS "receiptEmail", (SELECT environment FROM installation) AS environment,
  idempotency_key AS "idempotencyKey"`;

/** Deposit whose payment must be read now, or created if its creation is unconfirmed. */
export interface DueDeposit extends WantedPayment {
  /** Id of the payment; null if its creation is unconfirmed. */
  readonly paymentId: string | null;
  readonly ageSeconds: number;
}

/** Maximum number of pending deposits per customer. */
export const MAX_PENDING_DEPOSITS = 20;
/** Usual lifetime of a card payment's page. Only the provider's state is decisive. */
const PAYABLE_MINUTES = 60;
/**
 * How long until a new deposit is first read. Short, because a notification may arrive before the payment is
 * known.
 */
const FIRST_CHECK_SECONDS = 3;
/** Minimum pause between readings. Above it, the pause is a quarter of the deposit's age, up to a maximum. */
const SHORTEST_PAUSE_SECONDS = 5;
const LONGEST_PAUSE_SECONDS = 600;
/** Minimum time between two calls for a payment, however many notifications arrive. */
const NOTIFIED_AGAIN_SECONDS = 1;
/** How far a notified payment's reading may be backdated, to come before other due readings. */
const NOTIFIED_BEFORE_SECONDS = 60;
/** Minutes after the last attempt by which a comparison would have listed any payment that it created. */
const EXPIRES_UNSEEN_MINUTES = 120;

/** Executes the SQL statements about deposits, except those that move money. */
@Injectable()
export class DepositRecords {
  /** Deposits that this process's requests wait for. */
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

  /** Finds the deposit with an idempotency key. @returns null if there is none */
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

  /** Stores a deposit, once per key. @returns null if the customer has too many pending deposits */
  place(
    userId: number,
    provider: string,
    wanted: NewDeposit,
    idempotency: Idempotency,
  ): Promise<PlacedDeposit | null> {
    const { amount, receiptEmail, hasReceipt } = wanted;
    const { key, requestHash } = idempotency;
    // Lock first: a statement that has to wait for a lock misses deposits stored while it waits.
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

  /**
   * Finds a deposit whose payment has to be created, or was refused.
   *
   * @returns null if the payment was created, or the deposit has expired
   */
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

  /** Stores the request that creates the payment, before the first call. @returns the request stored first */
  async storeRequest(id: number, request: string): Promise<string> {
    const stored = await queryRow<{ request: string }>(
      this.dataSource,
      'UPDATE deposits SET request = coalesce(request, $2) WHERE id = $1 RETURNING request',
      [id, request],
    );
    return stored.request;
  }

  /** Claims deposits whose reading is due, and schedules their next reading. */
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
   * Makes the payments of our pending deposits due. Backdates them to the most overdue reading, by up to a
   * minute, so that they are read first when many customers pay at once. @returns the ids of these payments
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

  /** Returns the payments whose deposits have ended, so that no reading is due. */
  async endedAmong(provider: string, paymentIds: readonly string[]): Promise<string[]> {
    const found = await queryRows<{ paymentId: string }>(
      this.dataSource,
      `SELECT provider_payment_id AS "paymentId" FROM deposits
        WHERE provider = $1 AND provider_payment_id = ANY ($2) AND next_read_at IS NULL`,
      [provider, paymentIds],
    );
    return found.map(({ paymentId }) => paymentId);
  }

  /** Cancels a deposit whose payment the provider refused to create. */
  async cancelRefused(id: number, reason: string): Promise<void> {
    await queryRows(this.dataSource, endStatement('id = $2 AND provider_payment_id IS NULL', '$3::text'), [
      'canceled',
      id,
      reason,
    ]);
  }

  /**
   * Expires a deposit whose payment's creation was never confirmed, after a comparison that would have listed
   * the payment.
   */
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
 * Returns SQL that ends pending deposits with the state `$1` and writes their events.
 * @param which SQL condition for the deposits
 * @param reason SQL for the provider's reason
 */
export const endStatement = (which: string, reason = 'NULL'): string => `
  WITH ended AS (
    UPDATE deposits SET state = $1, closed_at = now(), next_read_at = NULL, provider_reason = ${reason}
     WHERE state = 'pending' AND ${which}
    RETURNING id, user_id, state, amount
  )
  SELECT id, log_event(user_id, 'deposit.canceled', jsonb_build_object(
           'deposit_id', id, 'state', state, 'amount', amount::text)) FROM ended`;
