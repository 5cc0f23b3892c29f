import { ApiProperty } from '@nestjs/swagger';
import {
  ApiMoment,
  ApiNullable,
  ApiNullableMoment,
  ApiRoubles,
  BooleanField,
  ChoiceField,
  IdField,
  PageOf,
  PageQuery,
  StrictRequest,
  TextField,
} from '../../http';
import { RENEWAL_STATES, type RenewalState, SKIP_REASONS, type SkipReason } from '../../renewals';
import { UserLinks } from '../links';

export class RenewalsQuery extends PageQuery {
  @IdField({ description: 'Whose proxies they are of', absent: 'null' })
  user_id!: number | null;

  @ChoiceField(RENEWAL_STATES, { description: 'The state of the renewal', absent: 'null' })
  state!: RenewalState | null;

  @ChoiceField(SKIP_REASONS, { description: 'Why it was skipped or failed', absent: 'null' })
  reason!: SkipReason | null;

  @BooleanField({
    description: 'Only those whose time has come and that wait for the service or the provider',
    default: false,
  })
  due!: boolean;
}

@StrictRequest()
export class PauseRequest {
  @BooleanField()
  paused!: boolean;

  @TextField()
  reason!: string;
}

export class StaffRenewalOut {
  @ApiProperty({ type: 'integer', example: 318 })
  id!: number;

  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiNullable('string', {
    description: 'The username of the user, or else the web_username',
    example: 'boris',
  })
  username!: string | null;

  @ApiProperty({ type: 'integer', example: 17 })
  proxy_id!: number;

  @ApiMoment('The end of the rental that it renews', '2026-11-28T12:00:00.000Z')
  date_end!: Date;

  @ApiProperty({ type: 'integer', description: 'The rule that held when it was last looked at', example: 5 })
  rule_id!: number;

  @ApiProperty({
    type: 'string',
    enum: RENEWAL_STATES,
    description:
      '`planned` is due later; `placed` has an open order; `done` is charged and carried out; `skipped` ' +
      'was not carried out, and is tried again while `next_try_at` tells when; `failed` is not tried again',
    example: 'skipped',
  })
  state!: RenewalState;

  @ApiNullable(SKIP_REASONS, { description: 'Why it was skipped or failed', example: 'balance-short' })
  reason!: SkipReason | null;

  @ApiProperty({ type: 'integer', description: 'Days', example: 30 })
  period!: number;

  @ApiNullable('string', {
    description: 'Roubles: what its order holds or was charged. Null before it has one',
    example: null,
  })
  price!: string | null;

  @ApiMoment('When its time came, or comes', '2026-11-27T12:00:00.000Z')
  due_at!: Date;

  @ApiNullableMoment('When it is looked at next. Null: no more', '2026-11-27T12:10:00.000Z')
  next_try_at!: Date | null;

  @ApiNullable('integer', { description: 'Its last order. Null: it has had none', example: null })
  order_id!: number | null;

  @ApiProperty({ type: UserLinks })
  links!: UserLinks;
}

export class RenewalsPage extends PageOf(StaffRenewalOut) {}

export class AllRenewalsOut {
  @ApiNullableMoment('Since when all renewals are paused. Null: they are not', '2026-11-21T12:00:00.000Z')
  paused_at!: Date | null;

  @ApiNullable('string', { example: 'The provider renews at wrong prices' })
  paused_reason!: string | null;
}

export class RenewalRuleOfUserOut {
  @ApiProperty({ type: 'integer', example: 5 })
  id!: number;

  @ApiNullable('integer', { description: 'The only proxy that it is for', example: null })
  proxy_id!: number | null;

  @ApiNullable('string', { description: 'Only proxies of this country', example: 'ru' })
  country!: string | null;

  @ApiNullable('string', { description: 'Only proxies with this label', example: null })
  label!: string | null;

  @ApiNullable('string', { description: 'Only proxies with this tag', example: null })
  tag!: string | null;

  @ApiNullable('integer', {
    description: 'Days. Null: the proxy is excluded from all other rules',
    example: 30,
  })
  period!: number | null;

  @ApiNullable('string', {
    description: 'Roubles that one renewal of one proxy may cost at most. Null: any price',
    example: '30.00',
  })
  max_price!: string | null;

  @ApiProperty({ type: 'integer', description: 'Hours before the end of a rental', example: 24 })
  hours_before!: number;

  @ApiMoment()
  created_at!: Date;
}

export class RenewalsOfUserOut {
  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiNullable('string', { example: 'boris' })
  username!: string | null;

  @ApiNullableMoment('Since when staff have paused the renewals of the user. Null: they have not', null)
  paused_at!: Date | null;

  @ApiNullable('string', { example: null })
  paused_reason!: string | null;

  @ApiNullable('string', {
    description: 'Roubles that the renewals of a month (UTC) may cost together. Null: as the balance allows',
    example: '500.00',
  })
  monthly_budget!: string | null;

  @ApiRoubles(
    'Roubles that the renewals of this month (UTC) were charged, or their open orders hold',
    '75.24',
  )
  spent_this_month!: string;

  @ApiProperty({
    type: () => RenewalRuleOfUserOut,
    isArray: true,
    description: 'What is switched on, newest first, at most a thousand. The narrowest rule holds',
  })
  rules!: readonly RenewalRuleOfUserOut[];

  @ApiProperty({ type: UserLinks })
  links!: UserLinks;
}
