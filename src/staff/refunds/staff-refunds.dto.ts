import { IP_VERSIONS, type IpVersion, type Money } from '../../common';
import {
  AmountField,
  BooleanField,
  ChoiceField,
  ExcelField,
  FromField,
  IdField,
  IntegerField,
  PageOf,
  PageQuery,
  StrictRequest,
  StringListField,
  ToField,
} from '../../http';
import { PROXY_REFUND_STATES, type ProxyRefundState, StaffRefundOut } from '../../proxy-refunds';
import { ReasonRequest } from '../fields';

export class RefundsQuery extends PageQuery {
  @ChoiceField(PROXY_REFUND_STATES, { description: 'The state', absent: 'null' })
  state!: ProxyRefundState | null;

  @IdField({ description: 'The user', absent: 'null' })
  user_id!: number | null;

  @FromField()
  from!: Date | null;

  @ToField()
  to!: Date | null;
}

@StrictRequest()
export class RefundSharesQuery {
  @IdField({ description: 'Only this customer', absent: 'null' })
  user_id!: number | null;
}

@StrictRequest()
export class RefundsFileQuery {
  @FromField({ example: '2026-11-01' })
  from!: Date;

  @ToField({ example: '2026-11-30' })
  to!: Date;

  @ExcelField()
  excel!: boolean;
}

export class RefundsPage extends PageOf(StaffRefundOut) {}

const DECISIONS = ['refund', 'refuse'] as const;

export class ProxyRefundDecisionRequest extends ReasonRequest {
  @ChoiceField(DECISIONS, { description: '`refund`: the amount is returned, and the proxy is deleted' })
  decision!: (typeof DECISIONS)[number];
}

const isVersion = (text: string): boolean => IP_VERSIONS.some((version) => version === text);

/** Replaces the whole rule. If `quota_sum` is omitted, it keeps its value. */
export class RefundRuleRequest extends ReasonRequest {
  @BooleanField({ description: 'Whether customers can request refunds' })
  enabled!: boolean;

  @IntegerField({
    description: 'How many hours after delivery a refund can still be requested',
    example: 72,
    atLeast: 1,
    atMost: 720,
  })
  hours!: number;

  @IntegerField({ description: 'How many consecutive checks must fail', example: 3, atLeast: 1, atMost: 20 })
  failed_checks!: number;

  @IntegerField({
    description:
      'The minimum number of minutes between checks. A random time of up to the same length is added',
    example: 10,
    atLeast: 1,
    atMost: 60,
  })
  minutes_between!: number;

  @IntegerField({
    description:
      'The maximum number of proxies to refund to a customer within 30 days, unless `quota_percent` ' +
      'allows more',
    example: 3,
    atLeast: 0,
    atMost: 10_000,
  })
  quota!: number;

  @IntegerField({
    description: 'The maximum refundable percentage of the proxies that a customer bought within 30 days',
    example: 5,
    atLeast: 0,
    atMost: 100,
  })
  quota_percent!: number;

  @AmountField({
    description:
      'The maximum amount to refund to a customer within 30 days, in roubles; `0` means no limit. All ' +
      'customers share `daily_sum`. If omitted, it is left unchanged',
    example: '500.00',
    orZero: true,
    absent: 'null',
  })
  quota_sum!: Money | null;

  @StringListField({
    description: 'The IP versions whose proxies are refunded',
    example: [...IP_VERSIONS],
    atMost: IP_VERSIONS.length,
    of: { isValid: isVersion, type: 'version', msg: 'Not a version', choices: IP_VERSIONS },
  })
  versions!: readonly IpVersion[];

  @AmountField({
    description:
      'The maximum amount to refund to all customers together per day (UTC), in roubles; `quota_sum` ' +
      'still limits each customer. Beyond this amount, refunds are left to staff',
    example: '1000.00',
  })
  daily_sum!: Money;
}
