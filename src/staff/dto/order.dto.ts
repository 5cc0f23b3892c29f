import { ApiProperty } from '@nestjs/swagger';
import type { OrderKind, OrderState } from '../../orders';
import { ApiItems, ApiNextCursor, ApiNullable } from './fields';

export const ORDER_STATES = [
  'reserved',
  'submitting',
  'confirming',
  'review',
  'completed',
  'partial',
  'refunded',
] as const satisfies readonly OrderState[];
export const ORDER_KINDS = ['purchase', 'prolongation'] as const satisfies readonly OrderKind[];

const ApiRoubles = (description: string, example: string) =>
  ApiProperty({ type: 'string', description: `Roubles ${description}`, example });
const ApiMoment = (example: string | null, description?: string) =>
  ApiNullable('string', { format: 'date-time', ...(description && { description }), example });

export class OrderOut {
  @ApiProperty({ type: 'integer', example: 815 })
  id!: number;

  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiProperty({ type: 'string', enum: ORDER_KINDS, example: 'purchase' })
  kind!: string;

  @ApiProperty({ type: 'string', enum: ORDER_STATES, example: 'completed' })
  state!: string;

  @ApiProperty({ type: 'string', description: 'Its own', example: 'prs.f3k9.u42.o815' })
  tag!: string;

  @ApiProperty({ type: 'string', example: 'ru' })
  country!: string;

  @ApiProperty({ type: 'string', enum: ['6', '4', '4s'], example: '6' })
  version!: string;

  @ApiProperty({ type: 'integer', description: 'Days', example: 30 })
  period!: number;

  @ApiProperty({ type: 'integer', example: 3 })
  count!: number;

  @ApiProperty({ type: 'string', enum: ['http', 'socks'], example: 'http' })
  proxy_type!: string;

  @ApiNullable('integer', { description: 'Of a prolongation: what is prolonged', example: null })
  proxy_id!: number | null;

  @ApiRoubles('for one proxy', '8.36')
  unit_price!: string;

  @ApiRoubles('set aside when it was placed', '25.08')
  held!: string;

  @ApiRoubles('paid', '25.08')
  captured!: string;

  @ApiRoubles('given back when it was closed', '0.00')
  released!: string;

  @ApiRoubles('given back by staff of what was paid', '0.00')
  refunded!: string;

  @ApiNullable('string', { example: '100500' })
  provider_order_id!: string | null;

  @ApiNullable('string', { description: 'Why it was refunded or came to review', example: null })
  failure!: string | null;

  @ApiNullable('string', {
    description: 'Of the request that placed it',
    example: '3c9f4a52-7d0f-4bb0-a2d3-6b1a3e0ddf0e',
  })
  request_id!: string | null;

  @ApiProperty({ type: 'string', format: 'date-time', example: '2026-11-21T12:00:00.000Z' })
  created_at!: Date;

  @ApiMoment('2026-11-21T12:00:00.200Z', 'When it was sent to the provider')
  submitted_at!: Date | null;

  @ApiMoment('2026-11-21T12:00:01.000Z')
  closed_at!: Date | null;

  @ApiNullable('integer', {
    description: 'The order that led the call in which it went to the provider; itself when it went alone',
    example: 815,
  })
  group_id!: number | null;
}

export class OrdersPage {
  @ApiItems(() => OrderOut)
  items!: readonly OrderOut[];

  @ApiNextCursor()
  next_cursor!: number | null;
}
