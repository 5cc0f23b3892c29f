import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ServiceUnavailable } from '../common';
import { queryRow } from '../database';

/** SQL condition that is true while the service is closed for maintenance. */
export const CLOSED_FOR_MAINTENANCE = 'EXISTS (SELECT FROM maintenance WHERE ended_at IS NULL)';

/** `Retry-After` during maintenance, in seconds. */
const RETRY_AFTER_SECONDS = 60;

/**
 * Returns the error for a request during maintenance. The request had no effect and may be retried unchanged.
 */
export const closedForMaintenance = (): ServiceUnavailable =>
  new ServiceUnavailable({ retryAfterSeconds: RETRY_AFTER_SECONDS });

/**
 * Shows whether the service is closed for maintenance after a possible restore of the database. During
 * maintenance, `order_refusals.sql` and `OrderClaims.claimNextBatch` let no replica place or send an order.
 */
@Injectable()
export class Maintenance {
  constructor(private readonly dataSource: DataSource) {}

  async isActive(): Promise<boolean> {
    const { isActive } = await queryRow<{ isActive: boolean }>(
      this.dataSource,
      `SELECT ${CLOSED_FOR_MAINTENANCE} AS "isActive"`,
    );
    return isActive;
  }

  /** @throws ServiceUnavailable while the service is closed for maintenance */
  async assertOpen(): Promise<void> {
    if (await this.isActive()) throw closedForMaintenance();
  }
}
