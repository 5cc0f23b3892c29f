import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { Money } from '../common';
import { queryRows } from '../database';
import { LedgerService } from '../ledger';
import { readIdempotency } from '../orders';
import { UserNotFound, UsersService } from '../users';
import type { Act } from './act';
import { type Posting, StaffPostings } from './staff-postings';

/** Roubles to put on a balance, or to take from it. */
export interface BalanceChange {
  readonly userId: number;
  readonly amount: Money;
  readonly reason: string;
  readonly reference?: string | null | undefined;
}

/** An entry with what caused it: an order, or something that staff did. */
export interface LedgerRow {
  readonly id: number;
  readonly seq: number;
  readonly kind: string;
  readonly available_delta: string;
  readonly held_delta: string;
  readonly available_after: string;
  readonly held_after: string;
  readonly order: { readonly id: number; readonly kind: string; readonly state: string } | null;
  readonly action: { readonly id: number; readonly via: string; readonly user_id: number | null } | null;
  readonly reason: string | null;
  readonly reference: string | null;
  readonly created_at: Date;
}

export const SELECT_LEDGER_ROW = `
  SELECT entry.id, entry.seq, entry.kind, available_delta, held_delta, available_after, held_after,
         CASE WHEN orders.id IS NOT NULL
              THEN json_build_object('id', orders.id, 'kind', orders.kind, 'state', orders.state) END AS "order",
         CASE WHEN action.id IS NOT NULL
              THEN json_build_object('id', action.id, 'via', action.via, 'user_id', action.user_id) END AS action,
         entry.reason, entry.reference, entry.created_at
    FROM ledger_entries entry
    LEFT JOIN orders ON orders.id = entry.order_id
    LEFT JOIN staff_actions action ON action.id = entry.action_id`;

/** A line of a statement. */
export interface StatementRow {
  readonly seq: number;
  /** ISO 8601, to the microsecond. */
  readonly created_at: string;
  readonly kind: string;
  readonly available_delta: string;
  readonly held_delta: string;
  readonly available_after: string;
  readonly held_after: string;
  readonly order_id: number | null;
  readonly reference: string | null;
  readonly reason: string | null;
}

const BATCH_SIZE = 1000;

/** What staff do with balances, over HTTP and on the command line. */
@Injectable()
export class StaffBalanceService {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly ledger: LedgerService,
    private readonly users: UsersService,
    private readonly postings: StaffPostings,
  ) {}

  /**
   * With a key, which is the member of staff's own, it is done once, however often it is asked for.
   *
   * @throws UserNotFound, InvalidAmount, InsufficientBalance, IdempotencyKeyInvalid, IdempotencyKeyReused
   */
  async post(
    act: Act,
    direction: 'credit' | 'debit',
    change: BalanceChange,
    idempotencyKey?: string,
  ): Promise<Posting> {
    const { userId, amount, reason, reference = null } = change;
    const asked = { direction, userId, amount: amount.toString(), reason, reference: reference ?? '' };
    return this.postings.post(act, readIdempotency(idempotencyKey, asked), async (manager, record) => {
      const before = await lockAccount(manager, userId);
      const balance = Money.parse(before.balance);
      const after = direction === 'credit' ? balance.plus(amount) : balance.minus(amount);
      const actionId = await record({ reason, before, after: { ...before, balance: after.toString() } });
      return this.ledger[direction](userId, amount, reason, { reference, actionId, manager });
    });
  }

  /** A page of a user's entries, newest first. @param cursor `seq` of the last one of the page before. @throws UserNotFound */
  async listEntries(userId: number, page: { cursor: number | null; limit: number }): Promise<LedgerRow[]> {
    await this.assertUser(userId);
    return queryRows<LedgerRow>(
      this.dataSource,
      `${SELECT_LEDGER_ROW}
        WHERE entry.user_id = $1 AND entry.seq < $2
        ORDER BY entry.seq DESC LIMIT $3`,
      [userId, page.cursor ?? Number.MAX_SAFE_INTEGER, page.limit],
    );
  }

  /** A user's entries of a period, oldest first, `to` not included. */
  async *statement(userId: number, from: Date, to: Date): AsyncGenerator<StatementRow[]> {
    let last: Pick<StatementRow, 'created_at' | 'seq'> = { created_at: from.toISOString(), seq: 0 };
    for (;;) {
      const batch: StatementRow[] = await queryRows<StatementRow>(
        this.dataSource,
        `SELECT seq, to_char(created_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at, kind, available_delta, held_delta,
                available_after, held_after, order_id, reference, reason
           FROM ledger_entries
          WHERE user_id = $1 AND (ledger_entries.created_at, seq) > ($2::timestamptz, $3) AND ledger_entries.created_at < $4
          ORDER BY ledger_entries.created_at, seq LIMIT ${BATCH_SIZE}`,
        [userId, last.created_at, last.seq, to],
      );
      yield batch;
      const end = batch.at(-1);
      if (!end || batch.length < BATCH_SIZE) return;
      last = end;
    }
  }

  /** @throws UserNotFound */
  async assertUser(userId: number): Promise<void> {
    if (!(await this.users.find(userId))) throw new UserNotFound();
  }
}

/** Until the transaction ends nobody else changes it. @throws UserNotFound */
async function lockAccount(
  manager: EntityManager,
  userId: number,
): Promise<{ readonly balance: string; readonly held: string }> {
  const [account] = await queryRows<{ balance: string; held: string }>(
    manager,
    'SELECT available AS balance, held FROM accounts WHERE user_id = $1 FOR UPDATE',
    [userId],
  );
  if (!account) throw new UserNotFound();
  return account;
}
