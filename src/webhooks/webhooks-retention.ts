import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRow } from '../database';
import { Retention, type RetentionStep, STEP_ROWS } from '../work';

/** Removes deleted webhooks and their deliveries. Other deliveries are removed with their events. */
@Injectable()
export class WebhooksRetention {
  constructor(
    private readonly dataSource: DataSource,
    retention: Retention,
  ) {
    retention.add<number>('deleted_webhooks', () => this.step());
  }

  /** Removes some deliveries of a deleted webhook, or the webhook if it has none. */
  private step(): Promise<RetentionStep<number>> {
    return queryRow<RetentionStep<number>>(
      this.dataSource,
      `WITH webhook AS (
         SELECT id FROM webhooks WHERE deleted_at IS NOT NULL ORDER BY id LIMIT 1
       ), sent AS MATERIALIZED (
         SELECT delivery.id FROM webhook JOIN webhook_deliveries delivery ON delivery.webhook_id = webhook.id
          ORDER BY delivery.id LIMIT $1
       ), forgotten AS (
         DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY(SELECT id FROM sent))
       ), removed AS (
         DELETE FROM webhooks
          WHERE id = (SELECT id FROM webhook) AND NOT EXISTS (SELECT FROM sent) RETURNING 1
       )
       SELECT (SELECT count(*) FROM removed) AS removed, (SELECT id FROM webhook) AS next`,
      [STEP_ROWS],
    );
  }
}
