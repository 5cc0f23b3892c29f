import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Notifier, preparedRows } from '../database';
import { PAUSE_AFTER_FAILURE_MS, Jobs } from '../jobs';

/** Notification channel for published events. The payload contains their users' ids. */
export const EVENTS_CHANNEL = 'events';
/** Interval at which each replica looks for events to publish, usually in an empty index. */
const INTERVAL_MS = 200;
const AT_ONCE = 500;

/** Publishes events in one order soon after their changes are committed, on one replica at a time. */
@Injectable()
export class EventPublisher {
  constructor(
    private readonly dataSource: DataSource,
    private readonly notifier: Notifier,
    jobs: Jobs,
  ) {
    jobs.every('publish-events', INTERVAL_MS, () => this.publish(), {
      waiting: 'SELECT count(*)::integer AS count, min(at) AS oldest FROM events WHERE position IS NULL',
      pauseAfterFailureMs: PAUSE_AFTER_FAILURE_MS,
    });
  }

  /** Publishes the next events. Returns whether there may be more; false while another replica publishes. */
  private async publish(): Promise<boolean> {
    const events = await preparedRows<{ userId: number }>(
      this.dataSource,
      'SELECT user_id AS "userId" FROM publish_events($1) AS user_id',
      [AT_ONCE],
    );
    this.notifier.send(EVENTS_CHANNEL, [...new Set(events.map(({ userId }) => userId))]);
    return events.length === AT_ONCE;
  }
}
