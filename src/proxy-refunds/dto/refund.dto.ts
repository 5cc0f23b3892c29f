import { ApiProperty } from '@nestjs/swagger';
import {
  ApiBoolean,
  ApiChoice,
  ApiInteger,
  ApiListOf,
  ApiNullable,
  ApiNullableMoment,
  ApiRoubles,
  ApiText,
  ApiTexts,
  IntegerField,
  StrictRequest,
} from '../../http';

/** Must match the list in `refunds.sql`. */
export const PROXY_REFUND_STATES = ['checking', 'staff', 'refunded', 'refused'] as const;
export type ProxyRefundState = (typeof PROXY_REFUND_STATES)[number];

/** Reasons that customers see. */
export const PROXY_REFUND_REFUSALS = [
  'proxy-works',
  'not-the-proxy',
  'refund-period-over',
  'refund-quota-used',
  'prolonged',
  'not-refundable',
] as const;
export type ProxyRefundRefusal = (typeof PROXY_REFUND_REFUSALS)[number];

export const LONGEST_WAIT_SECONDS = 30;

@StrictRequest()
export class ProxyRefundQuery {
  @IntegerField({
    description:
      'How many seconds to wait while the refund is `checking`. The response is sent as soon as this ' +
      'state ends',
    example: 30,
    atLeast: 0,
    atMost: LONGEST_WAIT_SECONDS,
    default: 0,
  })
  wait!: number;
}

export class ProxyRefundOut {
  @ApiChoice(
    ['none', ...PROXY_REFUND_STATES],
    '`none`: not requested; `code` then names the condition that is not met, if any. `checking`: the ' +
      'service is checking the proxy. `refunded`: the amount was returned, and the proxy is withdrawn. ' +
      '`refused`: see `code`. `staff`: the shop decides',
    'checking',
  )
  state!: 'none' | ProxyRefundState;

  @ApiNullable(
    PROXY_REFUND_REFUSALS,
    'Why it is refused: `proxy-works`, `not-the-proxy` (the proxy responds, and something else fails), ' +
      '`refund-period-over`, `refund-quota-used`, `prolonged` (after the request: request it again), ' +
      '`not-refundable`. Otherwise `null`',
    null,
  )
  code!: ProxyRefundRefusal | null;

  @ApiNullable('string', 'How to meet the condition that `code` names. `null` if there is no `code`', null)
  detail!: string | null;

  @ApiRoubles(
    'Amount that was or would be refunded, in roubles. Prolongations after the request are not included',
    '12.54',
  )
  amount!: string;

  @ApiInteger(
    'How many consecutive checks have failed. `0` while `checking`, so that the times of the checks ' +
      'stay secret',
    0,
  )
  failed_checks!: number;

  @ApiNullableMoment(
    'When the refund was requested. The remaining days are counted from this time. `null` if it was ' +
      'not requested',
  )
  requested_at!: Date | null;

  @ApiNullableMoment('When the refund was made or refused', null)
  closed_at!: Date | null;
}

export class StaffRefundOut {
  @ApiProperty({ type: 'integer', example: 7 })
  id!: number;

  @ApiProperty({ type: 'string', enum: PROXY_REFUND_STATES, example: 'staff' })
  state!: ProxyRefundState;

  @ApiNullable(
    'string',
    'Why it was refused, or why staff decide: `provider-disagrees` (its own check says that the proxy ' +
      "works), `daily-sum` (the refund would exceed the rule's daily sum), `assigned` (by staff), " +
      '`refunded-by-staff` (a part of an order), `withdrawn`, `undecided` (the checks proved nothing for ' +
      'a day), `rule-disabled`, or, after a restore, `forgotten`',
    'daily-sum',
  )
  reason!: string | null;

  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiProperty({ type: 'integer', example: 1001 })
  proxy_id!: number;

  @ApiText("The provider's id for the proxy", '2000123')
  provider_proxy_id!: string;

  @ApiProperty({ type: 'string', example: '203.0.113.7' })
  host!: string;

  @ApiNullable(
    'string',
    'The /24 network of the host. `null` unless the host is an IPv4 address',
    '203.0.113.0/24',
  )
  subnet!: string | null;

  @ApiProperty({ type: 'string', example: 'ru' })
  country!: string;

  @ApiProperty({ type: 'string', example: '4' })
  version!: string;

  @ApiTexts('The result of each failed check: `refused`, `timeout` or `closed`', ['timeout', 'timeout'])
  failures!: readonly string[];

  @ApiTexts('When each of these checks failed', ['2026-11-21T12:14:05.000Z', '2026-11-21T12:31:52.000Z'])
  failed_at!: readonly Date[];

  @ApiNullableMoment('When the next check is due. `null` unless it is `checking`', null)
  next_check_at!: Date | null;

  @ApiRoubles(
    'Amount that was refunded or that staff would refund, in roubles. It includes every order of the ' +
      'proxy',
    '12.54',
  )
  amount!: string;

  @ApiNullable(
    'string',
    'Amount that would be refunded under the rule, in roubles. It includes only orders up to the ' +
      'request. `null` if the proxy was refunded',
    '12.54',
  )
  amount_at_request!: string | null;

  @ApiBoolean('Whether the proxy has been prolonged since the request', false)
  is_prolonged_since!: boolean;

  @ApiNullableMoment()
  requested_at!: Date;

  @ApiNullableMoment('When the refund was made or refused', null)
  closed_at!: Date | null;

  @ApiNullableMoment('When the provider no longer had the proxy. `null` until then', null)
  deleted_at!: Date | null;

  @ApiNullable(
    'string',
    'A URL that opens the decision form on the documentation page. `null` unless the state is `staff`',
    '/staff/refunds/7/decide?decision=refund',
  )
  decide!: string | null;
}

/** Covers the last 30 days (UTC), including today. */
export class RefundShareOut {
  @ApiRoubles('Amount paid for orders, in roubles', '8527.20')
  paid!: string;

  @ApiRoubles('Amount refunded under the rule, without a decision by staff, in roubles', '12.54')
  refunded!: string;

  @ApiNullable(
    'string',
    'The part of `paid` that was refunded, in percent. `null` if nothing was paid',
    '0.1',
  )
  share_percent!: string | null;
}

export class CustomerRefundShareOut extends RefundShareOut {
  @ApiInteger('The user', 42)
  user_id!: number;
}

export class RefundSharesOut extends RefundShareOut {
  @ApiListOf(
    () => CustomerRefundShareOut,
    'Up to 100 customers who received refunds under the rule, largest amounts first',
  )
  customers!: CustomerRefundShareOut[];
}
