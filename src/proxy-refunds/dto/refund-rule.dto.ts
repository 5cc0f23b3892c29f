import { ApiProperty } from '@nestjs/swagger';
import { IP_VERSIONS, type IpVersion } from '../../common';
import { ApiBoolean, ApiInteger, ApiRoubles } from '../../http';

export class RefundRuleOut {
  @ApiBoolean('Whether the shop, under this rule, refunds proxies that do not work', true)
  enabled!: boolean;

  @ApiInteger("Hours after a proxy's delivery within which its refund can be requested", 72)
  hours!: number;

  @ApiInteger('How many checks in a row must fail', 3)
  failed_checks!: number;

  @ApiInteger(
    'The least number of minutes between these checks. A random time, up to the same length, is added',
    10,
  )
  minutes_between!: number;

  @ApiInteger(
    'How many proxies are refunded to a customer within 30 days at most, unless `quota_percent` allows more',
    3,
  )
  quota!: number;

  @ApiInteger(
    "The highest share of a customer's proxies bought within 30 days that is refunded, in percent",
    5,
  )
  quota_percent!: number;

  @ApiRoubles(
    'The most that is refunded to a customer within 30 days, in roubles. `0.00`: no such limit',
    '500.00',
  )
  quota_sum!: string;

  @ApiProperty({
    type: 'array',
    items: { type: 'string', enum: [...IP_VERSIONS] },
    description: 'The IP versions whose proxies are refunded',
    example: ['6', '4', '4s'],
  })
  versions!: readonly IpVersion[];
}

export class StaffRefundRuleOut extends RefundRuleOut {
  @ApiRoubles(
    'The most that the rule refunds to all customers together per day (UTC), in roubles; `quota_sum` ' +
      'still limits each customer. Above this amount, staff decide',
    '1000.00',
  )
  daily_sum!: string;
}
