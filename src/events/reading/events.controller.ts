import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentUserId, Scopes } from '../../auth';
import { disconnection, TextHeader, withoutDuration } from '../../http';
import { CURSOR_PATTERN, eventId, readCursor } from './cursor';
import type { EventRequest } from './event-pages';
import { EventReadingService } from './event-reading.service';
import { ReadEventsDocs } from './events.docs';
import type { EventsPage } from './events.dto';
import { EventsQuery, readTypes } from './events.query';

const STREAM_TYPE = 'text/event-stream';

@ApiTags('Events')
@Controller('events')
export class EventsController {
  constructor(private readonly events: EventReadingService) {}

  @Get()
  @Scopes('events:read')
  @ReadEventsDocs()
  async listEvents(
    @CurrentUserId() userId: number,
    @Query() { after, wait, limit, type }: EventsQuery,
    // What a client that reads streams sends when it connects again: its URL is still the one it began with.
    @TextHeader('Last-Event-ID', { pattern: CURSOR_PATTERN }) lastEventId: string | undefined,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<EventsPage | undefined> {
    const hungUp = disconnection(response);
    response.vary('Accept');
    const asked: EventRequest = {
      userId,
      after: readCursor(lastEventId || after),
      types: readTypes(type),
      limit,
    };
    const isStream = request.method === 'GET' && request.accepts('json', STREAM_TYPE) === STREAM_TYPE;
    if (isStream || wait > 0) withoutDuration(response);
    if (isStream) {
      await this.events.stream(request, response, asked, hungUp);
      return undefined;
    }
    const { items, next } = await this.events.poll(request, asked, wait * 1000, hungUp);
    // The replica may have begun to stop during the wait: the next request is for another one.
    if (this.events.isEnding) response.shouldKeepAlive = false;
    return { items, next_cursor: eventId(next) };
  }
}
