import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRow } from '../database';
import { ordersAreShut } from './refusals';

/** A condition on the database: a recovery has begun and not ended. */
export const RECOVERING_SQL = 'EXISTS (SELECT FROM recoveries WHERE ended_at IS NULL)';

/**
 * Whether orders are refused because the database was restored to an earlier moment. No order is then placed
 * or sent: `order_refusals.sql` and `OrderClaims.claimNextBatch` ensure that on every replica.
 */
@Injectable()
export class RecoveryState {
  constructor(private readonly dataSource: DataSource) {}

  async isOn(): Promise<boolean> {
    const { isOn } = await queryRow<{ isOn: boolean }>(this.dataSource, `SELECT ${RECOVERING_SQL} AS "isOn"`);
    return isOn;
  }

  /** @throws ServiceUnavailable while orders are refused */
  async assertOrdersAreOpen(): Promise<void> {
    if (await this.isOn()) throw ordersAreShut();
  }
}
