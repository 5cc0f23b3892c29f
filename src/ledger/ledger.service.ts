import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Money } from '../common';
import { queryRows, violatedConstraint } from '../database';
import { UserNotFound } from '../users';
import type { LedgerEntryKind } from './ledger-entry.entity';
import { InsufficientBalance, InvalidAmount } from './ledger.errors';

/** An entry as staff see it. Amounts are roubles. */
export interface PostedEntry {
  readonly id: number;
  readonly user_id: number;
  readonly kind: LedgerEntryKind;
  readonly amount: string;
  readonly reason: string;
  readonly balance: string;
  readonly held: string;
  readonly created_at: Date;
}

const LARGEST_AMOUNT = Money.parse('100000000');

/** True when the database refused to take more from an account than it holds. */
export const isInsufficientBalance = (constraint: string | undefined): boolean =>
  constraint === 'accounts_available_check';

/** Credits and debits by staff. Orders write their own entries together with their state, in one statement. */
@Injectable()
export class LedgerService {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /** @throws InvalidAmount, UserNotFound */
  credit(userId: number, amount: Money, reason: string): Promise<PostedEntry> {
    return this.post(userId, 'topup', amount, reason);
  }

  /** @throws InvalidAmount, UserNotFound, InsufficientBalance */
  debit(userId: number, amount: Money, reason: string): Promise<PostedEntry> {
    return this.post(userId, 'adjustment', amount, reason);
  }

  /** Whether a user has so much to spend at this moment. */
  async covers(userId: number, amount: Money): Promise<boolean> {
    const [account] = await queryRows<{ covers: boolean }>(
      this.dataSource,
      'SELECT available >= $2::numeric AS covers FROM accounts WHERE user_id = $1',
      [userId, amount.toString()],
    );
    return account?.covers ?? false;
  }

  private async post(
    userId: number,
    kind: 'topup' | 'adjustment',
    amount: Money,
    reason: string,
  ): Promise<PostedEntry> {
    if (!amount.isPositive() || amount.minus(LARGEST_AMOUNT).isPositive()) throw new InvalidAmount();
    const delta = kind === 'topup' ? amount : Money.zero.minus(amount);
    try {
      const [entry] = await queryRows<PostedEntry>(
        this.dataSource,
        `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, reason)
         VALUES ($1, $2, $3, 0, $4)
         RETURNING id, user_id, kind, available_delta AS amount, reason,
                   available_after AS balance, held_after AS held, created_at`,
        [userId, kind, delta.toString(), reason],
      );
      if (!entry) throw new Error('an inserted ledger entry was not returned');
      return entry;
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (isInsufficientBalance(constraint)) throw new InsufficientBalance();
      if (constraint === 'ledger_entries_user_id_fkey') throw new UserNotFound();
      throw error;
    }
  }
}
