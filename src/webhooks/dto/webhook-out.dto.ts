import { ApiProperty } from '@nestjs/swagger';
import { ALL_EVENT_TYPES } from '../../events';
import {
  ApiBoolean,
  ApiInteger,
  ApiMoment,
  ApiNullable,
  ApiNullableMoment,
  ApiText,
  PageOf,
} from '../../http';
import { DELIVERY_STATES, type DeliveryState } from '../webhook-states';

const REASONS = ['customer', 'failing', 'gone', 'operator'] as const;

const EXAMPLE_SECRET = 'whsec_...';

export class WebhookOut {
  @ApiProperty({ type: 'integer', example: 3 })
  id!: number;

  @ApiProperty({ type: 'string', example: 'https://example.com/hooks/proxies' })
  url!: string;

  @ApiProperty({
    anyOf: [{ type: 'array', items: { type: 'string', enum: [...ALL_EVENT_TYPES] } }, { type: 'null' }],
    description: 'The types of events that are sent. Null: all',
    example: ['order.completed', 'proxy.expiring'],
  })
  types!: readonly string[] | null;

  @ApiNullable('string', { example: 'The billing script' })
  description!: string | null;

  @ApiBoolean('Whether events are sent', true)
  enabled!: boolean;

  @ApiNullableMoment('When it was switched off. Null: it is on', null)
  disabled_at!: Date | null;

  @ApiNullable(REASONS, {
    description:
      'Who or what switched it off: you, days of failure, its answer 410 Gone, or the operator. Null: on',
    example: null,
  })
  disabled_reason!: (typeof REASONS)[number] | null;

  @ApiNullableMoment('Since when every attempt has failed. Null: the last one succeeded', null)
  failing_since!: Date | null;

  @ApiNullableMoment('Until when events are signed with the secret before as well. Null: no longer', null)
  previous_secret_until!: Date | null;

  @ApiMoment()
  created_at!: Date;
}

export class CreatedWebhook extends WebhookOut {
  @ApiText('By which you verify what is sent. It is shown this once', EXAMPLE_SECRET)
  secret!: string;
}

export class NewSecret {
  @ApiText('It is shown this once', EXAMPLE_SECRET)
  secret!: string;

  @ApiNullableMoment(
    'Until when the secret before stays valid. Null: it has ended',
    '2026-11-22T12:00:00.000Z',
  )
  previous_secret_until!: Date | null;
}

export class WebhooksPage extends PageOf(WebhookOut) {}

export class AttemptOut {
  @ApiProperty({ type: 'integer', example: 92 })
  id!: number;

  @ApiMoment('When it began')
  at!: Date;

  @ApiText('The `webhook-id` that was sent', 'evt_4711')
  event_id!: string;

  @ApiProperty({ type: 'string', example: 'order.completed' })
  event_type!: string;

  @ApiNullable('integer', { description: 'The status of the answer. Null: there was none', example: 200 })
  status!: number | null;

  @ApiInteger('How long it took, in milliseconds', 48)
  duration_ms!: number;

  @ApiNullable('string', { description: 'The first kilobyte of the answer', example: 'ok' })
  answer!: string | null;

  @ApiNullable('string', { description: 'Why it failed. Null: the event was delivered', example: null })
  error!: string | null;

  @ApiProperty({
    type: 'string',
    enum: [...DELIVERY_STATES],
    description: 'What has become of the event since: `failed` is tried no more, unless it is replayed',
    example: 'delivered',
  })
  state!: DeliveryState;

  @ApiNullableMoment('When it is tried again. Null: it is not', null)
  next_attempt_at!: Date | null;
}

export class AttemptsPage extends PageOf(AttemptOut) {}

export class ReplayedOut {
  @ApiInteger('How many events are sent again', 12)
  replayed!: number;

  @ApiNullable('string', {
    description:
      'There are more than one request replays: send this as `after`, with the same `since`. Null: these ' +
      'were all',
    example: null,
  })
  next_after!: string | null;
}
