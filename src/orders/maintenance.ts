import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRow } from '../database';
import { closedForMaintenance } from './refusals';

/** SQL condition that is true while the service is closed for maintenance. */
export const CLOSED_FOR_MAINTENANCE = 'EXISTS (SELECT FROM maintenance WHERE ended_at IS NULL)';

/**
 * Shows whether the service is closed for maintenance, because the database was, or may have been, restored
 * to an earlier moment. During maintenance no order is placed or sent: `order_refusals.sql` and
 * `OrderClaims.claimNextBatch` ensure that on every replica.
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
