import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentUserId, Route } from '../../auth';
import { disconnection, TextHeader, withoutDuration } from '../../http';
import { EVENT_TYPES, eventIdOf } from '../event-types';
import type { EventRequest } from './event-page-reader';
import { EventReadingService } from './event-reading.service';
import { type EventOut, EventsPage } from './events.dto';
import { CURSOR_PATTERN, EventsQuery, LONGEST_WAIT_SECONDS, readCursor, readTypes } from './events.query';
import { EventsGone } from './reading.errors';

const STREAM_TYPE = 'text/event-stream';

const COMPLETED = {
  id: 'evt_1742',
  type: 'order.completed',
  at: '2026-11-22T12:00:01.042Z',
  data: EVENT_TYPES['order.completed'].example,
} satisfies Record<keyof EventOut, unknown>;

const STREAM = `retry: 2000

id: ${COMPLETED.id}
event: ${COMPLETED.type}
data: ${JSON.stringify(COMPLETED)}

: still here
id: evt_1750

`;

@ApiTags('Events')
@Controller('events')
export class EventsController {
  constructor(private readonly events: EventReadingService) {}

  @Get()
  @Route({
    scope: 'events:read',
    summary: 'Read events',
    description:
      "Changes to the user's orders, proxies, balance and tokens, oldest first. Send the last " +
      '`next_cursor` as `after` each time: no event is skipped, and events arrive in publishing order. ' +
      `If \`wait\` is set (up to ${LONGEST_WAIT_SECONDS} seconds), the request waits for the first ` +
      'event. With `Accept: text/event-stream`, the response is a stream (Server-Sent Events) until ' +
      'either side ends it; to resume, reconnect with the last `id` as `Last-Event-ID`. An event may ' +
      'arrive more than once: deduplicate by `id`. A stream begins like ' +
      `this:\n\n\`\`\`\n${STREAM}\`\`\``,
    // Describes only the JSON response, because generated clients would confuse it with the event stream.
    response: {
      description: 'The next events',
      type: EventsPage,
      example: { items: [COMPLETED], next_cursor: COMPLETED.id },
    },
    errors: { 410: ['Events after the cursor were removed', EventsGone] },
  })
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'Sent by streaming clients when they reconnect. Takes precedence over `after`',
    schema: { type: 'string', pattern: CURSOR_PATTERN },
  })
  async listEvents(
    @CurrentUserId() userId: number,
    @Query() { after, wait, limit, type }: EventsQuery,
    // Stream clients send this header when they reconnect, while `after` in their URL stays the same.
    @TextHeader('Last-Event-ID', { pattern: CURSOR_PATTERN }) lastEventId: string | undefined,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<EventsPage | undefined> {
    const hungUp = disconnection(response);
    response.vary('Accept');
    const query: EventRequest = {
      userId,
      after: readCursor(lastEventId || after),
      afterLoc: lastEventId ? ['header', 'Last-Event-ID'] : ['query', 'after'],
      types: readTypes(type),
      limit,
    };
    const isStream = request.method === 'GET' && request.accepts('json', STREAM_TYPE) === STREAM_TYPE;
    if (isStream || wait > 0) withoutDuration(response);
    if (isStream) {
      await this.events.stream(request, response, query, hungUp);
      return undefined;
    }
    const { items, next } = await this.events.poll(request, query, wait * 1000, hungUp);
    // If the replica is stopping, close the connection, so that the next request goes to another replica.
    if (this.events.isEnding) response.shouldKeepAlive = false;
    return { items, next_cursor: eventIdOf(next) };
  }
}
