import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ServiceUnavailable } from '../common';
import { queryRow } from '../database';

export const CLOSED_FOR_MAINTENANCE = 'EXISTS (SELECT FROM maintenance WHERE ended_at IS NULL)';

const RETRY_AFTER_SECONDS = 60;

/** The request had no effect and may be retried unchanged. */
export const closedForMaintenance = (): ServiceUnavailable =>
  new ServiceUnavailable({ retryAfterSeconds: RETRY_AFTER_SECONDS });

/** `order_refusals.sql` and `OrderClaims.claimNextBatch` enforce maintenance on all replicas. */
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

  /** @throws ServiceUnavailable during maintenance */
  async assertOpen(): Promise<void> {
    if (await this.isActive()) throw closedForMaintenance();
  }
}
