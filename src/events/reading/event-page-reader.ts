import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import {
  RowWaiters,
  groupedStatement,
  Notifier,
  preparedRows,
  waitForStandby,
  type WaitsByRow,
} from '../../database';
import { CursorUnknown } from '../../http';
import { EVENTS_CHANNEL } from '../event-publisher';
import { eventIdOf, type PublishedEvent, type EventType, toPublishedEvent } from '../event-types';
import type { ReadingStart } from './events.query';
import { EventsGone } from './reading.errors';

/** Name of the retention record that stores the position up to which events were deleted. */
export const REMOVED_EVENTS = 'events';

/** Null `types` mean all types. */
export interface EventRequest {
  readonly userId: number;
  readonly after: ReadingStart;
  /** Location of `after` in the request, for error messages. */
  readonly afterLoc: readonly string[];
  readonly types: readonly EventType[] | null;
  readonly limit: number;
}

export interface EventBatch {
  readonly items: readonly PublishedEvent[];
  /** All events up to this position have been read. */
  readonly next: number;
  /** Whether more events may be available now. */
  readonly isFull: boolean;
}

interface FoundPage {
  readonly newest: number;
  /** The last position assigned so far. Later events get greater positions. */
  readonly given: number;
  readonly removedTo: number;
  readonly items:
    | readonly [position: number, type: EventType, at: string, data: PublishedEvent['data']][]
    | null;
  readonly wanted: number;
  readonly looked: number;
  readonly last: number | null;
}

/** Position of the user's newest event (`own`) and of the newest event of all users (`newest`). */
export interface NewestEvents {
  /** Id of the user. */
  readonly id: number;
  readonly own: number | null;
  readonly newest: number;
}

/** Number of events that one query scans for the requested types. Bounds the cost of rare types. */
const WINDOW = 1000;
const MAX_WINDOWS = 20;

const GROUP = { maxItems: 100, maxWaitMs: 20 };

/** Finds pages in one snapshot. Positions become visible in order, so none before the newest is missing. */
const FIND_PAGES = `
  WITH log AS MATERIALIZED (
    SELECT removed_to, greatest(removed_to, (SELECT max(position) FROM events)) AS newest,
           -- After a restore, positions are skipped, so this may be greater than the newest event's position.
           greatest(removed_to, pg_sequence_last_value('event_positions')) AS given
      FROM coalesce((SELECT last_id FROM retention_marks WHERE name = '${REMOVED_EVENTS}'), 0) AS removed_to
  )
  SELECT log.newest, log.given, log.removed_to AS "removedTo", page.*
    FROM log,
         unnest($1::bigint[], $2::bigint[], $3::text[], $4::integer[], $5::integer[])
           WITH ORDINALITY AS request (user_id, after, types, row_limit, row_window, n),
         LATERAL (
           SELECT json_agg(json_build_array(position, type, at, data) ORDER BY position)
                    FILTER (WHERE is_wanted AND rank <= request.row_limit) AS items,
                  count(*) FILTER (WHERE is_wanted) AS wanted,
                  count(*) AS looked,
                  max(position) AS last
             FROM (SELECT *, count(*) FILTER (WHERE is_wanted) OVER (ORDER BY position) AS rank
                     FROM (SELECT position, type, at, data,
                                  type <> 'test' AND (request.types IS NULL
                                    OR type = ANY (string_to_array(request.types, ','))) AS is_wanted
                             FROM events
                            WHERE user_id = request.user_id AND position > coalesce(request.after, log.newest)
                            ORDER BY position LIMIT request.row_window) AS looked) AS ranked
         ) AS page
   ORDER BY request.n`;

@Injectable()
export class EventPageReader {
  /** Users whose requests are waiting for new events in this process. */
  readonly awaited: RowWaiters<NewestEvents>;

  constructor(
    private readonly dataSource: DataSource,
    notifier: Notifier,
  ) {
    this.awaited = new RowWaiters(notifier, EVENTS_CHANNEL, (waits) => this.findNewest(waits));
  }

  /** @throws EventsGone, CursorUnknown */
  async read(request: EventRequest): Promise<EventBatch> {
    let page = await this.readWindow(request);
    for (let windows = 1; page.items.length === 0 && page.isFull && windows < MAX_WINDOWS; windows += 1) {
      page = await this.readWindow({ ...request, after: page.next });
    }
    return page;
  }

  private async readWindow(request: EventRequest): Promise<EventBatch> {
    const found = await this.find(request);
    const { after, limit, afterLoc } = request;
    if (typeof after === 'number') {
      if (after < found.removedTo) throw new EventsGone();
      if (after > found.given) throw new CursorUnknown(eventIdOf(after), ...afterLoc);
    }
    const items = (found.items ?? []).map(([position, type, at, data]) =>
      toPublishedEvent({ position, type, at: new Date(at), data }),
    );
    const isFull = found.wanted > limit || found.looked === windowOf(request);
    const lastItem = found.items?.at(-1)?.[0];
    const next = isFull ? (found.wanted > limit ? lastItem : found.last) : found.newest;
    return { items, isFull, next: Math.max(next ?? 0, typeof after === 'number' ? after : 0) };
  }

  private readonly find = groupedStatement<EventRequest, FoundPage>(async (requests) => {
    const pages = await preparedRows<FoundPage>(this.dataSource, FIND_PAGES, [
      requests.map(({ userId }) => userId),
      requests.map(({ after }) => (after === 'now' ? null : after === 'oldest' ? 0 : after)),
      requests.map(({ types }) => types?.join(',') ?? null),
      requests.map(({ limit }) => limit),
      requests.map(windowOf),
    ]);
    // Wait for the standby, because a failover could lose new events and reuse their positions.
    const isNew = requests.some(
      ({ after }, n) => (pages[n]?.newest ?? 0) > (typeof after === 'number' ? after : 0),
    );
    if (isNew) await waitForStandby(this.dataSource);
    return pages;
  }, GROUP);

  /** Skips users if each of their waiting requests has already seen the log's newest position. */
  private async findNewest(waits: WaitsByRow<NewestEvents>): Promise<NewestEvents[]> {
    const seen = [...waits.values()].map((ofUser) =>
      Math.min(...[...ofUser].map(({ row }) => row?.newest ?? -1)),
    );
    const rows = await preparedRows<NewestEvents>(
      this.dataSource,
      `WITH log AS MATERIALIZED (SELECT coalesce(max(position), 0) AS newest FROM events)
       SELECT request.id, (SELECT max(position) FROM events WHERE user_id = request.id) AS own, newest
         FROM log JOIN unnest($1::bigint[], $2::bigint[]) AS request (id, seen) ON seen < newest`,
      [[...waits.keys()], seen],
    );
    // Callers resume from these positions. Wait for the standby, because a failover could lose the positions.
    if (rows.length > 0) await waitForStandby(this.dataSource);
    return rows;
  }
}

/** If no types are requested, reads one event more than the limit, to see whether there are more. */
const windowOf = ({ types, limit }: EventRequest): number => (types ? WINDOW : limit + 1);
