import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Money } from '../../common';
import { inTurnOf, queryRows } from '../../database';
import type { EventSettingsOut } from './event-settings.dto';

/** What customers want to be told of. */
@Injectable()
export class EventSettingsService {
  constructor(private readonly dataSource: DataSource) {}

  read(userId: number): Promise<EventSettingsOut> {
    return this.only('SELECT low_balance AS balance_low FROM accounts WHERE user_id = $1', [userId]);
  }

  /** @param balanceLow null: no event tells of a low balance */
  write(userId: number, balanceLow: Money | null): Promise<EventSettingsOut> {
    return inTurnOf(userId, () =>
      this.only(
        'UPDATE accounts SET low_balance = $2 WHERE user_id = $1 RETURNING low_balance AS balance_low',
        [userId, balanceLow?.toString() ?? null],
      ),
    );
  }

  private async only(statement: string, parameters: unknown[]): Promise<EventSettingsOut> {
    const [settings] = await queryRows<EventSettingsOut>(this.dataSource, statement, parameters);
    if (!settings) throw new Error('a user without an account');
    return settings;
  }
}
