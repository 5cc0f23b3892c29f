import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { preparedRow, RowWaits, untilEnded, untilReplicated } from '../../database';
import { RequestsUnderWay } from '../../http';
import { PublishedEvents } from '../published-events';

/** The longest wait at a replica that is about to stop: the caller should move to another one. */
const LONGEST_WAIT_DRAINING_MS = 1000;

export interface Waited {
  /** Whether there may be events after the position. */
  readonly isCalled: boolean;
  /** There are no events up to this position, which may have advanced during the wait. */
  readonly position: number;
}

/** A request's place, for any number of waits. Events between two waits end the next one at once. */
export interface Waiter {
  /**
   * Resolves when there may be events after the position, when the time is over, when the caller hangs up, or
   * when the service stops. Never rejects.
   */
  wait: (position: number, timeoutMs: number) => Promise<Waited>;
  close: () => void;
}

interface Place {
  /** There are no events up to it; undefined while the request is not waiting. */
  position: number | undefined;
  isCalled: boolean;
  end: (() => void) | undefined;
}

/**
 * Requests that wait for events of their users. The hint of a publishing replica wakes the requests of these
 * users at once, and one statement each second finds events whose hint was lost.
 */
@Injectable()
export class EventWaits implements OnModuleDestroy {
  private readonly waits: RowWaits<Place>;
  private state: 'open' | 'draining' | 'ended' = 'open';

  constructor(
    private readonly dataSource: DataSource,
    private readonly underWay: RequestsUnderWay,
    published: PublishedEvents,
  ) {
    this.waits = new RowWaits(published, {
      name: 'events',
      hear: (userIds) => this.call(userIds),
      lookAtAll: () => this.look(this.positions()),
    });
  }

  onModuleDestroy(): void {
    this.end();
  }

  /** How many requests have a place. */
  count(): number {
    return this.waits.count();
  }

  /** Whether requests should end. */
  get isEnding(): boolean {
    return this.state !== 'open';
  }

  /**
   * Takes a place. Close it at the end.
   *
   * @param hungUp ends its waits
   * @throws TooManyUnderWay
   */
  open(userId: number, hungUp: AbortSignal): Waiter {
    const leave = this.underWay.enter('wait', userId);
    const place: Place = { position: undefined, isCalled: false, end: undefined };
    this.waits.begin(userId, place);
    return {
      wait: (position, timeoutMs) => this.wait(place, position, timeoutMs, hungUp),
      close: () => {
        leave();
        this.waits.end(userId, place);
      },
    };
  }

  /** Ends all waits, and shortens new ones: the replica is about to stop. */
  drain(): void {
    if (this.state === 'open') this.state = 'draining';
    this.endWaits();
  }

  /** Ends all waits, and refuses new ones. */
  end(): void {
    this.state = 'ended';
    this.endWaits();
  }

  private async wait(
    place: Place,
    position: number,
    timeoutMs: number,
    hungUp: AbortSignal,
  ): Promise<Waited> {
    place.position = position;
    if (!place.isCalled && this.state !== 'ended') {
      const longestMs = this.state === 'draining' ? LONGEST_WAIT_DRAINING_MS : timeoutMs;
      await untilEnded(longestMs, hungUp, (end) => (place.end = end));
    }
    const waited = { isCalled: place.isCalled, position: place.position };
    Object.assign(place, { position: undefined, isCalled: false, end: undefined });
    return waited;
  }

  /** Wakes the requests of the users: there may be events for them. */
  private call(userIds: Iterable<number>): void {
    for (const userId of userIds) {
      for (const place of this.waits.of(userId) ?? []) {
        place.isCalled = true;
        place.end?.();
      }
    }
  }

  /** The position from which to look, for each user with a waiting request. */
  private positions(): ReadonlyMap<number, number> {
    const positions = new Map<number, number>();
    for (const [userId, places] of this.waits.entries()) {
      const ofPlaces = [...places].flatMap(({ position }) => position ?? []);
      if (ofPlaces.length > 0) positions.set(userId, Math.min(...ofPlaces));
    }
    return positions;
  }

  /** Users without events are checked again only if the log has new events. */
  private async look(positions: ReadonlyMap<number, number>): Promise<void> {
    if (positions.size === 0) return;
    const { newest, users } = await preparedRow<{ newest: number; users: number[] }>(
      this.dataSource,
      `WITH log AS MATERIALIZED (SELECT coalesce(max(position), 0) AS newest FROM events)
       SELECT newest, ARRAY(
                SELECT request.user_id
                  FROM unnest($1::bigint[], $2::bigint[]) AS request (user_id, after)
                 WHERE request.after < newest
                   AND EXISTS (SELECT FROM events
                                WHERE user_id = request.user_id AND position > request.after)) AS users
         FROM log`,
      [[...positions.keys()], [...positions.values()]],
    );
    this.call(users);
    // Callers continue from the returned position, so it must survive a failover.
    if (newest > Math.min(...positions.values())) await untilReplicated(this.dataSource);
    const called = new Set(users);
    for (const [userId, from] of positions) {
      if (!called.has(userId)) this.moveOn(userId, from, newest);
    }
  }

  /** Advances the waits of a user without events between the two positions. */
  private moveOn(userId: number, from: number, to: number): void {
    for (const place of this.waits.of(userId) ?? []) {
      if (place.position !== undefined && place.position >= from) {
        place.position = Math.max(place.position, to);
      }
    }
  }

  private endWaits(): void {
    for (const [, places] of this.waits.entries()) for (const place of places) place.end?.();
  }
}
