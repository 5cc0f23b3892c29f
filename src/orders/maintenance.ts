import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRow } from '../database';
import { closedForMaintenance } from './refusals';

/** A condition on the database. */
export const CLOSED_FOR_MAINTENANCE = 'EXISTS (SELECT FROM maintenance WHERE ended_at IS NULL)';

/**
 * Whether the service is closed for maintenance, because the database was, or may have been, restored to an
 * earlier moment. No order is then placed or sent: `order_refusals.sql` and `OrderClaims.claimNextBatch`
 * ensure that on every replica.
 */
@Injectable()
export class Maintenance {
  constructor(private readonly dataSource: DataSource) {}

  async isOn(): Promise<boolean> {
    const { isOn } = await queryRow<{ isOn: boolean }>(
      this.dataSource,
      `SELECT ${CLOSED_FOR_MAINTENANCE} AS "isOn"`,
    );
    return isOn;
  }

  /** @throws ServiceUnavailable while the service is closed for maintenance */
  async assertOpen(): Promise<void> {
    if (await this.isOn()) throw closedForMaintenance();
  }
}
