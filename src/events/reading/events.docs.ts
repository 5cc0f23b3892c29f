import { applyDecorators } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { ApiErrorResponse, ApiValidationErrorResponse } from '../../http';
import { EVENT_TYPES } from '../event-types';
import { CURSOR_PATTERN } from './cursor';
import { type EventDto, EventsPage } from './events.dto';
import { LONGEST_WAIT_SECONDS } from './events.query';
import { EventsGone } from './reading.errors';

const COMPLETED = {
  id: 'evt_1742',
  type: 'order.completed',
  at: '2026-11-22T12:00:01.042Z',
  data: EVENT_TYPES['order.completed'].example,
} satisfies Record<keyof EventDto, unknown>;

const STREAM = `retry: 2000

id: ${COMPLETED.id}
event: ${COMPLETED.type}
data: ${JSON.stringify(COMPLETED)}

: still here
id: evt_1750

`;

export const ReadEventsDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Events',
      description:
        'What happened to the orders, proxies, balance and tokens of the user, oldest first. Send ' +
        '`next_cursor` as `after` each time: nothing is skipped, and events come in their order. ' +
        `With \`wait\` of up to ${LONGEST_WAIT_SECONDS} seconds the answer waits for the first event. With ` +
        '`Accept: text/event-stream` it is a stream (Server-Sent Events) until either side ends it; ' +
        'connect again with the last `id` as `Last-Event-ID`. An event may come more than once: know it ' +
        `by its \`id\`. A stream begins like this:\n\n\`\`\`\n${STREAM}\`\`\``,
    }),
    ApiHeader({
      name: 'Last-Event-ID',
      required: false,
      description: 'What clients of streams send when they connect again. Goes before `after`',
      schema: { type: 'string', pattern: CURSOR_PATTERN },
    }),
    // The stream has no place beside it: generated clients would read one as the other.
    ApiOkResponse({
      description: 'The next events',
      type: EventsPage,
      example: { items: [COMPLETED], next_cursor: COMPLETED.id },
    }),
    ApiErrorResponse(410, 'Events after the cursor are no longer kept', new EventsGone().detail),
    ApiValidationErrorResponse({
      type: 'string_pattern_mismatch',
      loc: ['query', 'after'],
      msg: `String should match pattern '${CURSOR_PATTERN}'`,
      input: 'yesterday',
      ctx: { pattern: CURSOR_PATTERN },
    }),
  );
