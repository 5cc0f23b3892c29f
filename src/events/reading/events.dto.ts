import { ApiProperty } from '@nestjs/swagger';
import { ApiMoment, ApiText } from '../../http';
import { ALL_EVENT_TYPES, type PublishedEvent, type EventType } from '../event-types';

export class EventOut implements PublishedEvent {
  @ApiText('The id of the event, which is never reused. It also serves as a cursor', 'evt_1742')
  id!: string;

  @ApiProperty({
    // The enum is open, because generated clients with a closed enum would fail on newer types.
    anyOf: [{ type: 'string', enum: [...ALL_EVENT_TYPES, 'test'] }, { type: 'string' }],
    description:
      'The type of the event. Ignore types that you do not know, because new ones may be added. `test` ' +
      'is sent only to webhooks',
    example: 'order.completed',
  })
  type!: EventType;

  @ApiMoment()
  at!: Date;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description:
      'The data of the event, which depends on its type: ids, states, times and amounts, but never a ' +
      'login or a password',
  })
  data!: Readonly<Record<string, unknown>>;
}

export class EventsPage {
  @ApiProperty({ type: () => EventOut, isArray: true })
  items!: readonly EventOut[];

  @ApiText(
    'Store this value and send it as `after` in the next request, even if `items` is empty',
    'evt_1742',
  )
  next_cursor!: string;
}
