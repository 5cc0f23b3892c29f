import { ApiProperty } from '@nestjs/swagger';
import { PERIODS_TEXT } from '../../../catalog';
import type { Money } from '../../../common';
import { AmountField, BooleanField, IntegerField } from '../../../http';
import { DRY_RUN_TEXT, MAX_PRICE_TEXT } from './guards';

export class ProlongRequest {
  @ApiProperty({ description: PERIODS_TEXT, example: 30 })
  @IntegerField({ greaterThan: 0 })
  readonly period!: number;

  @ApiProperty({ description: MAX_PRICE_TEXT, example: '25.08' })
  @AmountField({ optional: true })
  readonly max_price!: Money | null;

  @ApiProperty({ description: DRY_RUN_TEXT, example: false })
  @BooleanField({ default: false })
  readonly dry_run!: boolean;
}
