import { ApiProperty } from '@nestjs/swagger';
import {
  ApiMoment,
  ApiNullable,
  ApiNullableMoment,
  ApiText,
  BooleanField,
  IdField,
  PageOf,
  PageQuery,
} from '../../http';
import { UserLinks } from '../links';

export class StaffWebhooksQuery extends PageQuery {
  @IdField({ description: 'The user who owns the webhooks', absent: 'null' })
  user_id!: number | null;

  @BooleanField({ description: '`true`: disabled webhooks; `false`: enabled ones', absent: 'null' })
  disabled!: boolean | null;

  @BooleanField({ description: '`true`: enabled webhooks whose last attempt failed', default: false })
  failing!: boolean;
}

export class StaffWebhookOut {
  @ApiProperty({ type: 'integer', example: 3 })
  id!: number;

  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiNullable('string', { example: 'boris' })
  username!: string | null;

  @ApiText(
    "Host and port of the URL. The rest is not shown, because it may contain one of the customer's " +
      'secrets',
    'example.com',
  )
  host!: string;

  @ApiNullable('texts', 'The types of events that are sent. `null` if all types are sent', [
    'order.completed',
    'proxy.expiring',
  ])
  types!: readonly string[] | null;

  @ApiMoment()
  created_at!: Date;

  @ApiNullableMoment('When the webhook was disabled. `null` if it is enabled', null)
  disabled_at!: Date | null;

  @ApiNullable(
    'string',
    'Why the webhook was disabled: `customer`, `failing` (for days), `gone` (it returned 410) or ' +
      '`operator`. `null` if it is enabled',
    null,
  )
  disabled_reason!: string | null;

  @ApiNullableMoment('When attempts began to fail. `null` if the last attempt succeeded', null)
  failing_since!: Date | null;

  @ApiProperty({ type: UserLinks })
  links!: UserLinks;
}

export class StaffWebhooksPage extends PageOf(StaffWebhookOut) {}
