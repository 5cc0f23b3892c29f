import { ApiProperty } from '@nestjs/swagger';
import { PERIODS_TEXT } from '../../catalog';
import type { Money } from '../../common';
import {
  AmountField,
  ApiChoice,
  ApiNullable,
  ApiNullableMoment,
  ApiRoubles,
  IntegerField,
  StrictRequest,
} from '../../http';
import { BulkTargetRequest } from '../../proxies';

@StrictRequest()
export class BulkProlongRequest extends BulkTargetRequest {
  @IntegerField({ description: PERIODS_TEXT, example: 30, greaterThan: 0 })
  readonly period!: number;

  @AmountField({
    description:
      'The maximum total price of all prolongations, in roubles. If they cost more, the request is ' +
      'refused with 409. Once the request is accepted, each proxy is charged at most its share of this ' +
      'amount',
    example: '2508.00',
    absent: 'null',
  })
  readonly max_price!: Money | null;
}

export const BULK_STATUSES = ['prolonged', 'being_confirmed', 'refused', 'unavailable', 'not_found'] as const;
export type BulkStatus = (typeof BULK_STATUSES)[number];

export class BulkProxyOut {
  @ApiProperty({ type: 'string', example: '17' })
  proxy_id!: string;

  @ApiChoice(
    BULK_STATUSES,
    '`prolonged`: charged. `being_confirmed`: the money is held, and the next request with the key ' +
      'returns the outcome. `unavailable`: not charged, because the provider was unavailable or because ' +
      'time ran out; the next request retries it. `refused`: not charged, for the reason in `detail`. ' +
      '`not_found`: the user has no proxy with this id',
    'prolonged',
  )
  status!: BulkStatus;

  @ApiNullable('integer', 'The order that prolongs the proxy', 43)
  order_id!: number | null;

  @ApiNullable('string', 'The amount charged, in roubles, if the proxy was prolonged', '25.08')
  price_charged!: string | null;

  @ApiNullableMoment('The new end of the rental, if the proxy was prolonged', '2026-12-31T12:00:00Z')
  date_end!: string | null;

  @ApiNullable('string', 'Why the proxy was not prolonged, or has not been prolonged yet', null)
  detail!: string | null;
}

export class BulkTotals implements Record<BulkStatus, number> {
  @ApiProperty({ type: 'integer', example: 2 })
  proxies!: number;

  @ApiProperty({ type: 'integer', example: 2 })
  prolonged!: number;

  @ApiProperty({ type: 'integer', example: 0 })
  being_confirmed!: number;

  @ApiProperty({ type: 'integer', example: 0 })
  refused!: number;

  @ApiProperty({ type: 'integer', example: 0 })
  unavailable!: number;

  @ApiProperty({ type: 'integer', example: 0 })
  not_found!: number;

  @ApiRoubles('The amount charged for the prolonged proxies', '50.16')
  price_charged!: string;

  @ApiProperty({ type: 'string', example: 'RUB' })
  currency!: string;
}

export class BulkProlongResponse {
  @ApiProperty({
    type: [BulkProxyOut],
    description: 'One result per proxy, in the order of `proxy_ids` or, for a filter, in the order of ids',
  })
  proxies!: readonly BulkProxyOut[];

  @ApiProperty({ type: BulkTotals })
  totals!: BulkTotals;
}
