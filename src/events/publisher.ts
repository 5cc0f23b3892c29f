import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { preparedRows } from '../database';
import { PAUSE_AFTER_FAILURE_MS, Work } from '../work';
import { PublishedEvents } from './published-events';

/** Every replica looks so often whether there are events to publish, which reads an empty index as a rule. */
const INTERVAL_MS = 200;
const AT_ONCE = 500;

/**
 * Publishes events soon after the commits of their changes, on every replica: one of them at a time does, and
 * the others do not wait for it. What writes an event never waits for it either. It is not due work, of which
 * several replicas claim rows at once: the lock of `publish_events` is what gives events one order.
 */
@Injectable()
export class Publisher {
  constructor(
    private readonly dataSource: DataSource,
    private readonly published: PublishedEvents,
    work: Work,
  ) {
    work.every('publish-events', INTERVAL_MS, () => this.publish(), {
      waiting: 'SELECT count(*)::integer AS count, min(at) AS oldest FROM events WHERE position IS NULL',
      pauseAfterFailureMs: PAUSE_AFTER_FAILURE_MS,
    });
  }

  /** @returns whether there may be more; not when another replica is at it */
  private async publish(): Promise<boolean> {
    this.published.stayConnected();
    const events = await preparedRows<{ userId: number }>(
      this.dataSource,
      'SELECT user_id AS "userId" FROM publish_events($1) AS user_id',
      [AT_ONCE],
    );
    this.published.send([...new Set(events.map(({ userId }) => userId))]);
    return events.length === AT_ONCE;
  }
}
