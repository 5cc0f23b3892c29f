import { ApiProperty } from '@nestjs/swagger';
import { PERIODS_TEXT } from '../catalog';
import type { Money } from '../common';
import {
  AmountField,
  ApiBoolean,
  ApiChoice,
  ApiInteger,
  ApiMoment,
  ApiNullable,
  ApiRoubles,
  ApiText,
  ChoiceField,
  IntegerField,
  ObjectField,
  PageOf,
  StrictRequest,
  StringField,
} from '../http';
import { CountryFilterField, LabelFilterField, TagFilterField } from '../proxies';

/** The shortest rental period: with more hours, a rental could be due again as soon as it is renewed. */
const MAX_HOURS_BEFORE = 72;
const MIN_HOURS_BEFORE = 2;
const DEFAULT_HOURS_BEFORE = 24;

export const RULE_TARGETS = ['proxy', 'filter', 'all'] as const;
export type RuleTarget = (typeof RULE_TARGETS)[number];

@StrictRequest()
export class RenewalFilterBody {
  @CountryFilterField()
  readonly country!: string | null;

  @LabelFilterField()
  readonly label!: string | null;

  @TagFilterField()
  readonly tag!: string | null;
}

@StrictRequest()
export class NewRenewalRuleRequest {
  @ChoiceField(RULE_TARGETS, {
    description:
      'The target of the rule: `proxy` requires `proxy_id`, `filter` requires `filter`, and `all` neither',
    example: 'filter',
  })
  readonly target!: RuleTarget;

  @StringField({
    description: 'The `id` of the target `proxy`',
    example: '17',
    absent: 'null',
    maxLength: 20,
  })
  readonly proxy_id!: string | null;

  @ObjectField(RenewalFilterBody, {
    description:
      'The rule applies to all proxies that match the whole filter at the time, including those ' +
      'bought later',
    example: { tag: 'team-a' },
    absent: 'null',
  })
  readonly filter!: RenewalFilterBody | null;

  @IntegerField({
    description: `The period of each renewal. ${PERIODS_TEXT}`,
    example: 30,
    greaterThan: 0,
    atMost: 3650,
  })
  readonly period!: number;

  @AmountField({
    description:
      'The maximum price of a single renewal of one proxy, in roubles. If omitted, any price is accepted',
    example: '30.00',
    absent: 'null',
  })
  readonly max_price!: Money | null;

  @IntegerField({
    description: 'How many hours before the end of a rental to renew it',
    atLeast: MIN_HOURS_BEFORE,
    atMost: MAX_HOURS_BEFORE,
    default: DEFAULT_HOURS_BEFORE,
  })
  readonly hours_before!: number;
}

@StrictRequest()
export class ExclusionRequest {
  @StringField({ description: 'The `id` of the proxy', example: '17', maxLength: 20 })
  readonly proxy_id!: string;
}

export class RenewalRuleOut {
  @ApiProperty({ type: 'integer', example: 3 })
  id!: number;

  @ApiChoice(RULE_TARGETS, 'The target of the rule', 'filter')
  target!: RuleTarget;

  @ApiNullable('string', 'The proxy, if the rule applies to a single proxy', null)
  proxy_id!: string | null;

  @ApiNullable(RenewalFilterBody, 'The filter, if the rule has one', { tag: 'team-a' })
  filter!: object | null;

  @ApiBoolean('`false` if the rule is an exclusion, so that wider rules do not apply to the proxy', true)
  renews!: boolean;

  @ApiNullable('integer', 'The period in days. `null` for an exclusion', 30)
  period!: number | null;

  @ApiNullable(
    'string',
    'The maximum price of a single renewal of one proxy, in roubles. `null` if any price is accepted',
    '30.00',
  )
  max_price!: string | null;

  @ApiInteger('How many hours before the end of a rental to renew it', 24)
  hours_before!: number;

  @ApiMoment('When the rule was enabled')
  created_at!: Date;
}

export class RenewalRulesPage extends PageOf(RenewalRuleOut) {}

@StrictRequest()
export class BudgetRequest {
  @AmountField({
    description: 'The maximum cost of all renewals in a month (UTC), in roubles. `null` for no budget',
    example: '5000.00',
    nullable: true,
  })
  readonly monthly!: Money | null;
}

export class BudgetOut {
  @ApiNullable(
    'string',
    'The maximum cost of all renewals in a month (UTC), in roubles. `null` for no budget',
    '5000.00',
  )
  monthly!: string | null;

  @ApiText('The month (UTC) that the other fields describe', '2026-11')
  month!: string;

  @ApiRoubles(
    'Amount charged for renewals in this month, or held for their open orders, in roubles',
    '1254.00',
  )
  spent!: string;

  @ApiNullable('string', 'The remaining budget, in roubles. `null` if there is no budget', '3746.00')
  left!: string | null;

  @ApiBoolean('Whether the operator has paused renewals. While they are paused, no renewal is ordered', false)
  paused!: boolean;
}

export class DisabledRulesOut {
  @ApiInteger('The number of disabled rules', 3)
  disabled!: number;
}
