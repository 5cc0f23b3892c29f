import { ApiProperty } from '@nestjs/swagger';
import { ALL_EVENT_TYPES } from '../../events';
import {
  ApiBoolean,
  ApiChoice,
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
    description: 'The types of events that are sent. `null` if all types are sent',
    example: ['order.completed', 'proxy.expiring'],
  })
  types!: readonly string[] | null;

  @ApiNullable('string', { example: 'The billing script' })
  description!: string | null;

  @ApiBoolean('Whether events are sent', true)
  enabled!: boolean;

  @ApiNullableMoment('When the webhook was disabled. `null` if it is enabled', null)
  disabled_at!: Date | null;

  @ApiNullable(
    REASONS,
    'Why the webhook was disabled: by you, after days of failure, after a 410 Gone response, or by the ' +
      'operator. `null` if the webhook is enabled',
    null,
  )
  disabled_reason!: (typeof REASONS)[number] | null;

  @ApiNullableMoment('When attempts began to fail. `null` if the last attempt succeeded', null)
  failing_since!: Date | null;

  @ApiNullableMoment(
    'When events stop being signed with the previous secret as well. `null` if they already have',
    null,
  )
  previous_secret_until!: Date | null;

  @ApiMoment()
  created_at!: Date;
}

export class CreatedWebhook extends WebhookOut {
  @ApiText('The secret for verifying deliveries. It is shown only once', EXAMPLE_SECRET)
  secret!: string;
}

export class NewSecret {
  @ApiText('The new secret. It is shown only once', EXAMPLE_SECRET)
  secret!: string;

  @ApiNullableMoment('When the previous secret expires. `null` if it has expired', '2026-11-22T12:00:00.000Z')
  previous_secret_until!: Date | null;
}

export class WebhooksPage extends PageOf(WebhookOut) {}

export class AttemptOut {
  @ApiProperty({ type: 'integer', example: 92 })
  id!: number;

  @ApiMoment('When the attempt started')
  at!: Date;

  @ApiText('The `webhook-id` that was sent', 'evt_4711')
  event_id!: string;

  @ApiProperty({ type: 'string', example: 'order.completed' })
  event_type!: string;

  @ApiNullable('integer', 'The status of the response. `null` if there was no response', 200)
  status!: number | null;

  @ApiInteger('The duration in milliseconds', 48)
  duration_ms!: number;

  @ApiNullable('string', 'The first kilobyte of the response', 'ok')
  response!: string | null;

  @ApiNullable('string', 'The reason for the failure. `null` if the event was delivered', null)
  error!: string | null;

  @ApiChoice(
    [...DELIVERY_STATES],
    'The current state of the event. A `failed` event is not retried unless it is replayed',
    'delivered',
  )
  state!: DeliveryState;

  @ApiNullableMoment('When the next attempt is due. `null` if there is none', null)
  next_attempt_at!: Date | null;
}

export class AttemptsPage extends PageOf(AttemptOut) {}

export class ReplayedOut {
  @ApiInteger('The number of events that will be sent again', 12)
  replayed!: number;

  @ApiNullable(
    'string',
    'If more events remain, send this as `after` in the next request, with the same `since`. Otherwise ' +
      '`null`',
    null,
  )
  next_after!: string | null;
}
