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
  @IdField({ description: 'The only customer to show', absent: 'null' })
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

/** Replaces the whole rule. Only an omitted `quota_sum` keeps its value. */
export class RefundRuleRequest extends ReasonRequest {
  @BooleanField({ description: 'Whether customers can request refunds' })
  enabled!: boolean;

  @IntegerField({
    description: 'Hours after the delivery within which a refund can be requested',
    example: 72,
    atLeast: 1,
    atMost: 720,
  })
  hours!: number;

  @IntegerField({ description: 'How many checks in a row must fail', example: 3, atLeast: 1, atMost: 20 })
  failed_checks!: number;

  @IntegerField({
    description: 'The least number of minutes between checks; a random time, up to the same length, is added',
    example: 10,
    atLeast: 1,
    atMost: 60,
  })
  minutes_between!: number;

  @IntegerField({
    description:
      'How many proxies to refund to a customer within 30 days at most, unless `quota_percent` allows more',
    example: 3,
    atLeast: 0,
    atMost: 10_000,
  })
  quota!: number;

  @IntegerField({
    description:
      'The highest share to refund, in percent of the proxies that a customer bought within 30 days',
    example: 5,
    atLeast: 0,
    atMost: 100,
  })
  quota_percent!: number;

  @AmountField({
    description:
      'The most to refund to a customer within 30 days, in roubles; `0`: no such limit. All customers ' +
      'share `daily_sum`. If omitted, it stays as it is',
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
      'The most to refund to all customers together per day (UTC), in roubles; `quota_sum` still ' +
      'limits each customer. Above this amount, refunds are left to staff',
    example: '1000.00',
  })
  daily_sum!: Money;
}
