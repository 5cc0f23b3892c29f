import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Money } from '../common';
import { inQueueOf, queryRow, queryRows, refusedBy } from '../database';
import { UserNotFound } from '../users';
import { InvalidAmount, LARGEST_AMOUNT, OVERDRAFT, OVERFLOW } from './ledger.errors';
import type { PostedEntryOut } from './posted-entry.dto';

export interface EntryOrigin {
  readonly reference?: string | null | undefined;
  /** Id of the staff action in the audit log. */
  readonly actionId?: number;
  readonly manager?: EntityManager;
}

export const POSTED_ENTRY = `entry.id, entry.user_id, entry.kind, entry.available_delta AS amount,
  entry.reason, entry.reference, entry.available_after AS balance, entry.held_after AS held,
  entry.created_at`;

/** Posts credits and debits by staff. Orders' entries are posted by the statements that change the orders. */
@Injectable()
export class LedgerService {
  constructor(private readonly dataSource: DataSource) {}

  /** @throws InvalidAmount, UserNotFound, BalanceTooLarge */
  credit(userId: number, amount: Money, reason: string, origin: EntryOrigin = {}): Promise<PostedEntryOut> {
    return this.post(userId, 'topup', amount, reason, origin);
  }

  /** @throws InvalidAmount, UserNotFound, InsufficientBalance */
  debit(userId: number, amount: Money, reason: string, origin: EntryOrigin = {}): Promise<PostedEntryOut> {
    return this.post(userId, 'adjustment', amount, reason, origin);
  }

  /** @throws UserNotFound */
  async available(userId: number): Promise<Money> {
    const [account] = await queryRows<{ available: string }>(
      this.dataSource,
      'SELECT available FROM accounts WHERE user_id = $1',
      [userId],
    );
    if (!account) throw new UserNotFound();
    return Money.parse(account.available);
  }

  /** Returns the balance in roubles below which the user gets an event; null for no event. */
  lowBalanceOf(userId: number): Promise<string | null> {
    return this.lowBalance('SELECT low_balance AS below FROM accounts WHERE user_id = $1', [userId]);
  }

  setLowBalance(userId: number, below: Money | null): Promise<string | null> {
    return inQueueOf(userId, () =>
      this.lowBalance(
        'UPDATE accounts SET low_balance = $2 WHERE user_id = $1 RETURNING low_balance AS below',
        [userId, below?.toString() ?? null],
      ),
    );
  }

  private async lowBalance(statement: string, parameters: unknown[]): Promise<string | null> {
    const account = await queryRow<{ below: string | null }>(this.dataSource, statement, parameters);
    return account.below;
  }

  private async post(
    userId: number,
    kind: 'topup' | 'adjustment',
    amount: Money,
    reason: string,
    { reference = null, actionId, manager = this.dataSource.manager }: EntryOrigin,
  ): Promise<PostedEntryOut> {
    if (!amount.isPositive() || amount.minus(LARGEST_AMOUNT).isPositive()) throw new InvalidAmount();
    const delta = kind === 'topup' ? amount : Money.zero.minus(amount);
    return refusedBy({ ...OVERDRAFT, ...OVERFLOW, ledger_entries_user_id_fkey: UserNotFound }, () =>
      queryRow<PostedEntryOut>(
        manager,
        `INSERT INTO ledger_entries AS entry
             (user_id, kind, available_delta, held_delta, reason, reference, action_id)
           VALUES ($1, $2, $3, 0, $4, $5, $6)
           RETURNING ${POSTED_ENTRY}`,
        [userId, kind, delta.toString(), reason, reference, actionId ?? null],
      ),
    );
  }
}
