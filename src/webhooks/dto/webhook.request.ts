import { EVENT_ID_PATTERN } from '../../events';
import { BooleanField, DateTimeField, IntegerField, StrictRequest, StringField, TextField } from '../../http';
import { TypesField, WebhookUrlField } from './webhook-fields';

const DAY_HOURS = 24;
const MAX_OVERLAP_HOURS = 7 * DAY_HOURS;

const URL = 'The URL to which events are sent: `https://…`, without credentials or a fragment';

@StrictRequest()
export class NewWebhookRequest {
  @WebhookUrlField({ description: URL, example: 'https://example.com/hooks/proxies' })
  url!: string;

  @TypesField({
    description: 'The types of events to send. Defaults to all types, including future ones',
    example: ['order.completed', 'proxy.expiring'],
    absent: 'null',
  })
  types!: readonly string[] | null;

  @TextField({
    description: 'The purpose of the webhook; only you see it',
    example: 'The billing script',
    absent: 'null',
  })
  description!: string | null;
}

@StrictRequest()
export class ChangedWebhookRequest {
  @WebhookUrlField({ description: URL, example: 'https://example.com/hooks/proxies', absent: 'omitted' })
  url!: string | undefined;

  @TypesField({
    description: 'The types of events that are sent. `null` for all types; if omitted, they are unchanged',
    example: ['order.completed', 'proxy.expiring'],
    absent: 'omitted',
    nullable: true,
  })
  types!: readonly string[] | null | undefined;

  @TextField({
    description: 'The purpose of the webhook. `null` clears it; if omitted, it is unchanged',
    example: 'The billing script',
    absent: 'omitted',
    nullable: true,
  })
  description!: string | null | undefined;

  @BooleanField({
    description:
      '`false` disables the webhook: nothing is sent, and events that happen meanwhile are not stored ' +
      'for it. `true` enables it again, even after days of failure',
    example: true,
    absent: 'omitted',
  })
  enabled!: boolean | undefined;
}

@StrictRequest()
export class NewSecretRequest {
  @IntegerField({
    description:
      'For how many hours the previous secret stays valid. Until then, events are signed with both. ' +
      '`0` revokes it immediately: use `0` if the secret was stolen',
    atLeast: 0,
    atMost: MAX_OVERLAP_HOURS,
    default: DAY_HOURS,
  })
  overlap_hours!: number;
}

@StrictRequest()
export class ReplayRequest {
  @StringField({
    description: 'The id of a single event, of any type',
    example: 'evt_4711',
    absent: 'null',
    pattern: EVENT_ID_PATTERN,
  })
  event_id!: string | null;

  @DateTimeField({
    description: 'All events of the subscribed types since this time, within the retention period',
    example: '2026-11-21T12:00:00Z',
    absent: 'null',
  })
  since!: Date | null;

  @StringField({
    description: 'With `since`: the last `next_after`. Only later events are sent',
    example: 'evt_4711',
    absent: 'null',
    pattern: EVENT_ID_PATTERN,
  })
  after!: string | null;

  @BooleanField({
    description: 'With `since`: whether to include events that were already delivered',
    default: false,
  })
  include_delivered!: boolean;
}
