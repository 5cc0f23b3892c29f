import { ApiProperty } from '@nestjs/swagger';
import { IP_VERSIONS, type IpVersion } from '../../common';
import { ApiBoolean, ApiInteger, ApiRoubles } from '../../http';

export class RefundRuleOut {
  @ApiBoolean('Whether refunds under this rule are enabled', true)
  enabled!: boolean;

  @ApiInteger('How many hours after delivery a refund can still be requested', 72)
  hours!: number;

  @ApiInteger('How many consecutive checks must fail', 3)
  failed_checks!: number;

  @ApiInteger(
    'The minimum number of minutes between these checks. A random time of up to the same length is added',
    10,
  )
  minutes_between!: number;

  @ApiInteger(
    'The maximum number of proxies refunded to a customer within 30 days, unless `quota_percent` ' +
      'allows more',
    3,
  )
  quota!: number;

  @ApiInteger('The maximum refundable percentage of the proxies that a customer bought within 30 days', 5)
  quota_percent!: number;

  @ApiRoubles(
    'The maximum amount refunded to a customer within 30 days, in roubles. `0.00` means no limit',
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
    'The maximum amount refunded under the rule to all customers together per day (UTC), in roubles; ' +
      '`quota_sum` still limits each customer. Beyond this amount, staff decide',
    '1000.00',
  )
  daily_sum!: string;
}
