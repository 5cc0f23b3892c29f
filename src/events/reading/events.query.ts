import { IntegerField, LimitField, InputMistake, StrictRequest, StringField } from '../../http';
import { ALL_EVENT_TYPES, type EventType, isEventType } from '../event-types';

/** Accepts `now`, or the id of any event, even another user's, to read the events after it. */
export const CURSOR_PATTERN = '^(now|evt_[0-9]{1,15})$';

export const LONGEST_WAIT_SECONDS = 30;

export const UNKNOWN_TYPE = 'Input should be event types, separated by commas';

const WORDS = ALL_EVENT_TYPES.map((type) => `\`${type}\``).join(', ');

@StrictRequest()
export class EventsQuery {
  @StringField({
    description:
      'The last `next_cursor`, the `id` of an event, or `now` to read only future events. If omitted, ' +
      'reading starts with the oldest stored event',
    example: 'evt_1742',
    absent: 'null',
    pattern: CURSOR_PATTERN,
  })
  after!: string | null;

  @IntegerField({
    description:
      'How many seconds to wait for events. The response is sent as soon as there are events, or, once ' +
      'this time is over, without any',
    atLeast: 0,
    atMost: LONGEST_WAIT_SECONDS,
    default: 0,
  })
  wait!: number;

  @LimitField()
  limit!: number;

  @StringField({
    description: `Only events of these types, separated by commas: ${WORDS}`,
    example: 'order.completed,proxy.expiring',
    absent: 'null',
    maxLength: 1000,
    refine: (text) =>
      text.split(',').every(isEventType) ? undefined : new InputMistake('enum', UNKNOWN_TYPE, text),
  })
  type!: string | null;
}

/** Starts after a position, at the oldest event, or at the end of the log. */
export type ReadingStart = number | 'oldest' | 'now';

export function readCursor(text: string | null): ReadingStart {
  if (text === null) return 'oldest';
  return text === 'now' ? 'now' : Number(text.slice('evt_'.length));
}

export const readTypes = (text: string | null): readonly EventType[] | null =>
  text === null ? null : text.split(',').filter(isEventType);
