import { ApiProperty } from '@nestjs/swagger';
import { ApiMoment, ApiNullable, ApiRoubles } from '../http';
import type { LedgerEntryKind } from './entry-kinds';

/** Ledger entry by staff. */
export class PostedEntryOut {
  @ApiProperty({ type: 'integer', example: 1234 })
  id!: number;

  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiProperty({ type: 'string', enum: ['topup', 'adjustment', 'refund'], example: 'topup' })
  kind!: LedgerEntryKind;

  @ApiRoubles('Roubles added to the balance. Negative when they were taken from it', '500.00')
  amount!: string;

  @ApiProperty({ type: 'string', example: 'Bank transfer' })
  reason!: string;

  @ApiNullable('string', { example: 'invoice 2026-1107' })
  reference!: string | null;

  @ApiRoubles('Roubles that can be spent after the entry', '1500.00')
  balance!: string;

  @ApiRoubles('Roubles held after the entry', '0.00')
  held!: string;

  @ApiMoment()
  created_at!: Date;
}
