import { ApiProperty } from '@nestjs/swagger';
import {
  ApiListOf,
  ApiNullable,
  ApiNullableMoment,
  ApiRoubles,
  BooleanField,
  ChoiceField,
  IdField,
  OmitType,
  PageOf,
  PageQuery,
} from '../../http';
import {
  RENEWAL_STATES,
  RenewalOut,
  RenewalRuleOut,
  type RenewalState,
  RENEWAL_OBSTACLES,
  type RenewalObstacle,
} from '../../renewals';
import { ReasonRequest } from '../fields';
import { UserLinks } from '../links';

export class RenewalsQuery extends PageQuery {
  @IdField({ description: 'The user who owns the proxies', absent: 'null' })
  user_id!: number | null;

  @ChoiceField(RENEWAL_STATES, { description: 'The state of the renewal', absent: 'null' })
  state!: RenewalState | null;

  @ChoiceField(RENEWAL_OBSTACLES, { description: 'Why the renewal was skipped or failed', absent: 'null' })
  reason!: RenewalObstacle | null;

  @BooleanField({
    description: 'Only due renewals waiting for the service or the provider',
    default: false,
  })
  due!: boolean;
}

export class PauseRequest extends ReasonRequest {
  @BooleanField()
  paused!: boolean;
}

export class StaffRenewalOut extends OmitType(RenewalOut, ['proxy_id', 'charged_at']) {
  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiNullable('string', "The user's username, or web_username if there is none", 'boris')
  username!: string | null;

  @ApiProperty({ type: 'integer', example: 17 })
  proxy_id!: number;

  @ApiProperty({ type: UserLinks })
  links!: UserLinks;
}

export class StaffRenewalsPage extends PageOf(StaffRenewalOut) {}

export class AllRenewalsOut {
  @ApiNullableMoment(
    'When all renewals were paused. `null` if they are not paused',
    '2026-11-21T12:00:00.000Z',
  )
  paused_at!: Date | null;

  @ApiNullable('string', { example: 'The provider renews at the wrong prices' })
  paused_reason!: string | null;
}

export class RenewalRuleOfUserOut extends OmitType(RenewalRuleOut, [
  'target',
  'proxy_id',
  'filter',
  'renews',
]) {
  @ApiNullable('integer', 'The proxy, if the rule applies to a single proxy', null)
  proxy_id!: number | null;

  @ApiNullable('string', 'Only proxies of this country', 'ru')
  country!: string | null;

  @ApiNullable('string', 'Only proxies with this label', null)
  label!: string | null;

  @ApiNullable('string', 'Only proxies with this tag', null)
  tag!: string | null;
}

export class RenewalsOfUserOut {
  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiNullable('string', { example: 'boris' })
  username!: string | null;

  @ApiNullableMoment("When staff paused the user's renewals. `null` if they are not paused", null)
  paused_at!: Date | null;

  @ApiNullable('string', { example: null })
  paused_reason!: string | null;

  @ApiNullable(
    'string',
    'The maximum cost of all renewals in a month (UTC), in roubles. `null` if there is no budget',
    '500.00',
  )
  monthly_budget!: string | null;

  @ApiRoubles(
    'Amount charged for renewals in this month (UTC), or held for their open orders, in roubles',
    '75.24',
  )
  spent_this_month!: string;

  @ApiListOf(
    () => RenewalRuleOfUserOut,
    'The enabled rules, newest first, at most 1,000. The narrowest rule applies',
  )
  rules!: readonly RenewalRuleOfUserOut[];

  @ApiProperty({ type: UserLinks })
  links!: UserLinks;
}
