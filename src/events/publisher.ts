import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Jobs } from '../common';
import { preparedRows } from '../database';
import { PublishedEvents } from './published-events';

/** Every replica looks so often whether there are events to publish, which reads an empty index as a rule. */
const INTERVAL_MS = 200;
const AT_ONCE = 500;
/** While the database is away, a failure is not logged five times a second. */
const PAUSE_AFTER_FAILURE_MS = 2000;

/**
 * Publishes events soon after the commits of their changes, on every replica: one of them at a time does, and
 * the others do not wait for it. What writes an event never waits for it either.
 */
@Injectable()
export class Publisher implements OnApplicationBootstrap {
  private notBeforeMs = -Infinity;

  constructor(
    private readonly dataSource: DataSource,
    private readonly jobs: Jobs,
    private readonly published: PublishedEvents,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('publish-events', INTERVAL_MS, (signal) => this.round(signal));
  }

  private async round(signal: AbortSignal): Promise<void> {
    if (performance.now() < this.notBeforeMs) return;
    this.published.stayConnected();
    try {
      while (!signal.aborted && (await this.publish()) === AT_ONCE);
    } catch (error) {
      this.notBeforeMs = performance.now() + PAUSE_AFTER_FAILURE_MS;
      throw error;
    }
  }

  /** @returns how many; 0 also when another replica is at it */
  private async publish(): Promise<number> {
    const events = await preparedRows<{ userId: number }>(
      this.dataSource,
      'SELECT user_id AS "userId" FROM publish_events($1) AS user_id',
      [AT_ONCE],
    );
    this.published.announce(events.map(({ userId }) => userId));
    return events.length;
  }
}
