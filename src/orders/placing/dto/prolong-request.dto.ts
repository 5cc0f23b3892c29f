import { PERIODS_TEXT } from '../../../catalog';
import type { Money } from '../../../common';
import { AmountField, BooleanField, IntegerField } from '../../../http';
import { DRY_RUN_TEXT, MAX_PRICE_TEXT } from './guards';

export class ProlongRequest {
  @IntegerField({ description: PERIODS_TEXT, example: 30, greaterThan: 0 })
  readonly period!: number;

  @AmountField({ description: MAX_PRICE_TEXT, example: '25.08', absent: 'null' })
  readonly max_price!: Money | null;

  @BooleanField({ description: DRY_RUN_TEXT, example: false, default: false })
  readonly dry_run!: boolean;
}
