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
import { Retries } from '../../jobs';
import type { Idempotency } from '../../orders';
import type { PaymentMark } from '../provider/payment-provider';
import type { DepositOut } from './deposit.dto';

/** The public state of a row of `deposits`. */
export const SHOWN_STATE = `CASE WHEN deposits.refunded >= deposits.amount THEN 'refunded'
  ELSE deposits.state END`;

export const DEPOSIT_COLUMNS = `id, ${SHOWN_STATE} AS state, amount, 'RUB' AS currency,
  CASE WHEN state = 'pending' THEN payment_url END AS payment_url, refunded, created_at, expires_at,
  closed_at`;

/** With what staff do not see. */
const OWN_COLUMNS = `${DEPOSIT_COLUMNS}, receipt_email`;

export interface NewDeposit {
  readonly amount: string;
  /** If it is null, the last one of the customer, if any. */
  readonly receiptEmail: string | null;
  /** Whether payments have receipts; otherwise no address is stored. */
  readonly hasReceipt: boolean;
}

/** The deposit of a key, and whether it was created for the same request. */
interface PlacedDeposit {
  readonly id: number;
  readonly isNew: boolean;
  readonly isSame: boolean;
}

/** A deposit without a confirmed payment. */
export interface WantedPayment extends PaymentMark {
  readonly amount: string;
  readonly receiptEmail: string | null;
  /** Null before the first call. */
  readonly request: string | null;
}

const WANTED_COLUMNS = `id AS "depositId", payment_key AS "paymentKey", user_id AS "userId", amount,
  request, receipt_email AS "receiptEmail", (SELECT environment FROM installation) AS environment,
  idempotency_key AS "idempotencyKey"`;

/** A deposit whose reading is due. */
export interface DueDeposit extends WantedPayment {
  /** Null if the creation has not been confirmed. */
  readonly paymentId: string | null;
  readonly ageSeconds: number;
}

/** How many pending deposits a customer may have. */
export const MOST_PENDING = 20;
/** How long the page of a card payment can be used. The provider's state decides. */
const PAYABLE_MINUTES = 60;
/** A new deposit is read soon: a notification may have come before its payment was known. */
const FIRST_CHECK_SECONDS = 3;
/** Pauses between readings grow with the age of a deposit: a quarter of it, within these bounds. */
const SHORTEST_PAUSE_SECONDS = 5;
const LONGEST_PAUSE_SECONDS = 600;
/** The least time between two calls for a payment, for any number of notifications. */
const NOTIFIED_AGAIN_SECONDS = 1;
/** How late other readings may be so that a notified payment is read before them. */
const NOTIFIED_BEFORE_SECONDS = 60;
/** Enough for a comparison to list any payment that the last attempt may have created. */
const EXPIRES_UNSEEN_MINUTES = 120;

/** The statements of deposits that do not move money. */
@Injectable()
export class DepositRecords {
  /** The deposits that requests of this process wait for. */
  readonly awaited: RowWaiters<{ readonly id: number; readonly state: DepositOut['state'] }>;

  constructor(
    private readonly dataSource: DataSource,
    notifier: Notifier,
    retries: Retries,
  ) {
    retries.add({
      table: 'deposits',
      column: 'next_read_at',
      where: 'true',
      longestPause: `interval '${LONGEST_PAUSE_SECONDS} seconds'`,
    });
    this.awaited = new RowWaiters(notifier, 'deposits', (waits) =>
      preparedRows(dataSource, 'SELECT id, state FROM deposits WHERE id = ANY ($1)', [[...waits.keys()]]),
    );
  }

  /** The deposit of a key. @returns null if there is none */
  async findByKey(
    userId: number,
    { amount }: NewDeposit,
    { key, requestHash }: Idempotency,
    queryable: Queryable = this.dataSource,
  ): Promise<PlacedDeposit | null> {
    const [earlier] = await queryRows<{ id: number; isSame: boolean }>(
      queryable,
      // A deposit that was recreated after a restore has no hash.
      `SELECT id, coalesce(request_hash = $3, amount = $4) AS "isSame" FROM deposits
        WHERE user_id = $1 AND idempotency_key = $2`,
      [userId, key, requestHash, amount],
    );
    return earlier ? { ...earlier, isNew: false } : null;
  }

  /** Stores a deposit, once for each key. @returns null if the customer has too many pending ones */
  place(
    userId: number,
    provider: string,
    wanted: NewDeposit,
    idempotency: Idempotency,
  ): Promise<PlacedDeposit | null> {
    const { amount, receiptEmail, hasReceipt } = wanted;
    const { key, requestHash } = idempotency;
    // The lock first: a statement that waits for it does not see the deposits that were stored meanwhile.
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
          WHERE (SELECT count(*) FROM deposits WHERE user_id = $1 AND state = 'pending') < ${MOST_PENDING}
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

  /** A deposit whose payment has to be created, or was refused; null if it was created, or if it expired. */
  async findWanted(id: number): Promise<(WantedPayment & { readonly isRefused: boolean }) | null> {
    const [wanted] = await queryRows<WantedPayment & { readonly isRefused: boolean }>(
      this.dataSource,
      `SELECT ${WANTED_COLUMNS}, state = 'canceled' AS "isRefused" FROM deposits
        WHERE id = $1 AND provider_payment_id IS NULL
          -- The provider remembers a key for 24 hours.
          AND (state = 'canceled' OR (state = 'pending' AND created_at > now() - interval '23 hours'))`,
      [id],
    );
    return wanted ?? null;
  }

  /** Stores the request that creates the payment, before the first call. @returns the one that was first */
  async storeRequest(id: number, request: string): Promise<string> {
    const stored = await queryRow<{ request: string }>(
      this.dataSource,
      'UPDATE deposits SET request = coalesce(request, $2) WHERE id = $1 RETURNING request',
      [id, request],
    );
    return stored.request;
  }

  /** Claims deposits whose reading is due, and sets the time of the next one. */
  claimDue(provider: string, room: number): Promise<DueDeposit[]> {
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
      [provider, room],
    );
  }

  /**
   * Makes these payments due if they are ours and pending. They come before readings that are late,
   * of which there are many when many customers pay at once: as if they were as late as the latest of these.
   *
   * @returns those
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

  /** Those of the payments whose deposits have ended, so that no reading is due. */
  async endedAmong(provider: string, paymentIds: readonly string[]): Promise<string[]> {
    const found = await queryRows<{ paymentId: string }>(
      this.dataSource,
      `SELECT provider_payment_id AS "paymentId" FROM deposits
        WHERE provider = $1 AND provider_payment_id = ANY ($2) AND next_read_at IS NULL`,
      [provider, paymentIds],
    );
    return found.map(({ paymentId }) => paymentId);
  }

  /** Cancels a deposit whose payment the provider refused to create, so that there will be none. */
  async cancelRefused(id: number, reason: string): Promise<void> {
    await queryRows(this.dataSource, endStatement('id = $2 AND provider_payment_id IS NULL', '$3::text'), [
      'canceled',
      id,
      reason,
    ]);
  }

  /**
   * Ends a deposit whose creation was never confirmed, after a comparison that would have listed its payment
   * did not.
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
 * Ends pending deposits with the state `$1`, and writes the event.
 *
 * @param which their SQL condition
 * @param reason the provider's, in SQL
 */
export const endStatement = (which: string, reason = 'NULL'): string => `
  WITH ended AS (
    UPDATE deposits SET state = $1, closed_at = now(), next_read_at = NULL, provider_reason = ${reason}
     WHERE state = 'pending' AND ${which}
    RETURNING id, user_id, state, amount
  )
  SELECT id, log_event(user_id, 'deposit.canceled', jsonb_build_object(
           'deposit_id', id, 'state', state, 'amount', amount::text)) FROM ended`;
