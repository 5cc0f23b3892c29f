import { ApiProperty } from '@nestjs/swagger';
import { ApiMoment, ApiNullable, ApiRoubles } from '../http';
import type { LedgerEntryKind } from './entry-kinds';

export class PostedEntryOut {
  @ApiProperty({ type: 'integer', example: 1234 })
  id!: number;

  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiProperty({ type: 'string', enum: ['topup', 'adjustment', 'refund'], example: 'topup' })
  kind!: LedgerEntryKind;

  @ApiRoubles('Amount added to the balance, in roubles. Negative if the amount was deducted', '500.00')
  amount!: string;

  @ApiProperty({ type: 'string', example: 'Bank transfer' })
  reason!: string;

  @ApiNullable('string', { example: 'invoice 2026-1107' })
  reference!: string | null;

  @ApiRoubles('Available balance after the entry, in roubles', '1500.00')
  balance!: string;

  @ApiRoubles('Amount held after the entry, in roubles', '0.00')
  held!: string;

  @ApiMoment()
  created_at!: Date;
}
