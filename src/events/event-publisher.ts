import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Notifier, onEventsWritten, preparedRows } from '../database';
import { PAUSE_AFTER_FAILURE_MS, Jobs } from '../jobs';

/** Notification channel. Each payload lists the ids of users with new events. */
export const EVENTS_CHANNEL = 'events';
const LOOK_EVERY_MS = 1000;
/** Minimum pause between publications, so that each one covers many writers' events. */
const PAUSE_MS = 200;
const AT_ONCE = 500;

/** Publishes this replica's committed events and, at intervals, any that others left unpublished. */
@Injectable()
export class EventPublisher {
  private readonly wake: () => void;
  private next: NodeJS.Timeout | undefined;
  private publishedAtMs = -Infinity;

  constructor(
    private readonly dataSource: DataSource,
    private readonly notifier: Notifier,
    jobs: Jobs,
  ) {
    this.wake = jobs.every('publish-events', LOOK_EVERY_MS, () => this.publish(), {
      waiting: 'SELECT count(*)::integer AS count, min(at) AS oldest FROM events WHERE position IS NULL',
      isDue: () => 'EXISTS (SELECT FROM events WHERE position IS NULL)',
      pauseAfterFailureMs: PAUSE_AFTER_FAILURE_MS,
    });
    onEventsWritten(dataSource, () => this.publishSoon());
  }

  private publishSoon(): void {
    const waitMs = Math.max(0, this.publishedAtMs + PAUSE_MS - performance.now());
    this.next ??= setTimeout(() => {
      this.next = undefined;
      this.wake();
    }, waitMs);
  }

  /** Returns whether more events may be waiting to be published. */
  private async publish(): Promise<boolean> {
    this.publishedAtMs = performance.now();
    const events = await preparedRows<{ userId: number | null }>(
      this.dataSource,
      'SELECT user_id AS "userId" FROM publish_events($1) AS user_id',
      [AT_ONCE],
    );
    // Another replica is publishing, but may not see this replica's events, so try again soon.
    if (events[0]?.userId === null) {
      this.publishSoon();
      return false;
    }
    this.notifier.send(EVENTS_CHANNEL, [...new Set(events.flatMap(({ userId }) => userId ?? []))]);
    return events.length === AT_ONCE;
  }
}
