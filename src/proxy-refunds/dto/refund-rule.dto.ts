import { ApiProperty } from '@nestjs/swagger';
import { IP_VERSIONS, type IpVersion } from '../../common';
import { ApiBoolean, ApiInteger, ApiRoubles } from '../../http';

/** Shop's conditions for refunds of proxies that do not work. */
export class RefundRuleOut {
  @ApiBoolean('Whether the shop refunds proxies that do not work by this rule', true)
  enabled!: boolean;

  @ApiInteger('Hours after its delivery in which a refund of a proxy can be requested', 72)
  hours!: number;

  @ApiInteger('How many checks in a row must fail', 3)
  failed_checks!: number;

  @ApiInteger('Minutes between these checks at least. A random part is added, up to as much again', 10)
  minutes_between!: number;

  @ApiInteger('How many proxies of a customer are refunded in 30 days at most, unless the share is more', 3)
  quota!: number;

  @ApiInteger('The share that is refunded in 30 days at most, in percent of the proxies bought in them', 5)
  quota_percent!: number;

  @ApiRoubles('Roubles that are refunded to a customer in 30 days at most. `0.00`: no such limit', '500.00')
  quota_sum!: string;

  @ApiProperty({
    type: 'array',
    items: { type: 'string', enum: [...IP_VERSIONS] },
    description: 'The versions whose proxies are refunded',
    example: ['6', '4', '4s'],
  })
  versions!: readonly IpVersion[];
}

export class StaffRefundRuleOut extends RefundRuleOut {
  @ApiRoubles(
    'Roubles that the rule refunds to all customers in a day (UTC) at most, in addition to the limit of ' +
      'each (`quota_sum`); above it, staff decide',
    '1000.00',
  )
  daily_sum!: string;
}
