import { ApiProperty } from '@nestjs/swagger';
import { type Money } from '../../common';
import { AmountField, DateTimeField } from '../../http';
import { ApiItems, ApiNextCursor, ApiNullable, TextField } from './fields';

export class PostingRequest {
  @AmountField()
  amount!: Money;

  @TextField()
  reason!: string;

  @TextField({ optional: true })
  reference!: string | null;
}

export class StatementQuery {
  @ApiProperty({ description: 'A moment with its offset, e.g. 2026-11-01T00:00:00Z' })
  @DateTimeField()
  from!: Date;

  @ApiProperty({ description: 'The moment after the last, e.g. 2026-12-01T00:00:00Z' })
  @DateTimeField()
  to!: Date;
}

const ApiRoubles = (description: string, example: string) =>
  ApiProperty({ type: 'string', description: `Roubles ${description}`, example });

export class PostedEntryOut {
  @ApiProperty({ type: 'integer', example: 1234 })
  id!: number;

  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiProperty({ type: 'string', enum: ['topup', 'adjustment', 'refund'], example: 'topup' })
  kind!: string;

  @ApiRoubles('added to the balance; negative when taken', '500.00')
  amount!: string;

  @ApiProperty({ type: 'string', example: 'Bank transfer' })
  reason!: string;

  @ApiNullable('string', { example: 'invoice 2026-1107' })
  reference!: string | null;

  @ApiRoubles('that can be spent afterwards', '1500.00')
  balance!: string;

  @ApiRoubles('held afterwards', '0.00')
  held!: string;

  @ApiProperty({ type: 'string', format: 'date-time', example: '2026-11-21T12:00:00.000Z' })
  created_at!: Date;
}

export class CausingOrder {
  @ApiProperty({ type: 'integer', example: 815 })
  id!: number;

  @ApiProperty({ type: 'string', enum: ['purchase', 'prolongation'], example: 'purchase' })
  kind!: string;

  @ApiProperty({ type: 'string', example: 'completed' })
  state!: string;
}

export class CausingAction {
  @ApiProperty({ type: 'integer', description: 'In the log of actions', example: 1001 })
  id!: number;

  @ApiProperty({ type: 'string', enum: ['api', 'cli'], example: 'api' })
  via!: string;

  @ApiNullable('integer', { description: 'Who did it; null on the command line', example: 7 })
  user_id!: number | null;
}

export class LedgerEntryOut {
  @ApiProperty({ type: 'integer', example: 1234 })
  id!: number;

  @ApiProperty({ type: 'integer', description: 'Counts from 1 for each user', example: 3 })
  seq!: number;

  @ApiProperty({
    type: 'string',
    enum: ['topup', 'adjustment', 'hold', 'capture', 'release', 'refund'],
    example: 'hold',
  })
  kind!: string;

  @ApiRoubles('by which the balance changed', '-25.08')
  available_delta!: string;

  @ApiRoubles('by which held money changed', '25.08')
  held_delta!: string;

  @ApiRoubles('that could be spent afterwards', '974.92')
  available_after!: string;

  @ApiRoubles('held afterwards', '25.08')
  held_after!: string;

  @ApiProperty({ anyOf: [{ $ref: '#/components/schemas/CausingOrder' }, { type: 'null' }] })
  order!: CausingOrder | null;

  @ApiProperty({ anyOf: [{ $ref: '#/components/schemas/CausingAction' }, { type: 'null' }] })
  action!: CausingAction | null;

  @ApiNullable('string', { example: null })
  reason!: string | null;

  @ApiNullable('string', { example: null })
  reference!: string | null;

  @ApiProperty({ type: 'string', format: 'date-time', example: '2026-11-21T12:00:00.000Z' })
  created_at!: Date;
}

export class LedgerPage {
  @ApiItems(() => LedgerEntryOut)
  items!: readonly LedgerEntryOut[];

  @ApiNextCursor()
  next_cursor!: number | null;
}
