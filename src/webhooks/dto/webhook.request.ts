import { ApiProperty } from '@nestjs/swagger';
import { BooleanField, DateTimeField, IntegerField, StrictRequest, StringField, TextField } from '../../http';
import { TypesField, WebhookUrlField } from './webhook-fields';

const DAY_HOURS = 24;
const MAX_OVERLAP_HOURS = 7 * DAY_HOURS;

const URL = 'Where events are sent: `https://…`, without credentials and fragment';

@StrictRequest()
export class NewWebhookRequest {
  @ApiProperty({ description: URL, example: 'https://example.com/hooks/proxies' })
  @WebhookUrlField()
  url!: string;

  @ApiProperty({
    description: 'The types of events that are sent. All of them by default, later ones included',
    example: ['order.completed', 'proxy.expiring'],
  })
  @TypesField({ optional: true })
  types!: readonly string[] | null;

  @ApiProperty({ description: 'What the webhook is for; only you see it', example: 'The billing script' })
  @TextField({ optional: true })
  description!: string | null;
}

@StrictRequest()
export class ChangedWebhookRequest {
  @ApiProperty({ description: URL, example: 'https://example.com/hooks/proxies' })
  @WebhookUrlField({ changed: true })
  url!: string | undefined;

  @ApiProperty({
    description: 'The types of events that are sent. Null: all. Left out: they stay',
    example: ['order.completed', 'proxy.expiring'],
  })
  @TypesField({ changed: true, nullable: true })
  types!: readonly string[] | null | undefined;

  @ApiProperty({ description: 'Null clears it. Left out: it stays', example: 'The billing script' })
  @TextField({ changed: true, nullable: true })
  description!: string | null | undefined;

  @ApiProperty({
    description:
      '`false` switches the webhook off: nothing is sent, and events of that time are not kept for it. ' +
      '`true` switches it on again, also after days of failure',
    example: true,
  })
  @BooleanField({ changed: true })
  enabled!: boolean | undefined;
}

@StrictRequest()
export class NewSecretRequest {
  @ApiProperty({
    description:
      'For how many hours the secret before stays valid: events are signed with both. `0` ends it at once, ' +
      'which is right for a secret that was stolen',
  })
  @IntegerField({ atLeast: 0, atMost: MAX_OVERLAP_HOURS, default: DAY_HOURS })
  overlap_hours!: number;
}

/** The form of the ids of events. */
const EVENT_ID = '^evt_[1-9][0-9]{0,14}$';

@StrictRequest()
export class ReplayRequest {
  @ApiProperty({ description: 'One event, of whatever type', example: 'evt_4711' })
  @StringField({ optional: true, pattern: EVENT_ID })
  event_id!: string | null;

  @ApiProperty({
    description: 'All events of the types of the webhook from this moment on, as far as they are kept',
    example: '2026-11-21T12:00:00Z',
  })
  @DateTimeField({ optional: true })
  since!: Date | null;

  @ApiProperty({
    description: 'With `since`: the `next_after` of the answer before; only events behind that one',
    example: 'evt_4711',
  })
  @StringField({ optional: true, pattern: EVENT_ID })
  after!: string | null;

  @ApiProperty({ description: 'With `since`: also what was delivered before' })
  @BooleanField({ default: false })
  include_delivered!: boolean;
}
