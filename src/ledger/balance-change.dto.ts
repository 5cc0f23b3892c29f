import { ApiChoice, ApiInteger, ApiMoment, ApiNullable, ApiRoubles, PageOf } from '../http';
import { SHOWN_KINDS, type ShownKind } from './shown-kind';

export class BalanceChangeOut {
  @ApiInteger('Sequence number of the balance change; starts at 1, without gaps', 3)
  seq!: number;

  @ApiMoment()
  created_at!: Date;

  @ApiChoice(
    SHOWN_KINDS,
    '`hold`: held for an order. `capture`: charged from the held amount for delivered proxies. ' +
      '`release`: returned from the held amount. `refund`: returned after it was captured. `credit`, ' +
      '`debit`: added to or deducted from the balance by the shop',
    'capture',
  )
  kind!: ShownKind;

  @ApiNullable('integer', 'The order that caused the change', 815)
  order_id!: number | null;

  @ApiNullable('integer', 'The deposit that caused the change', null)
  deposit_id!: number | null;

  @ApiRoubles('Available balance before the change, in roubles', '974.92')
  available_before!: string;

  @ApiRoubles('Change in the available balance, in roubles', '0.00')
  available_delta!: string;

  @ApiRoubles('Available balance after the change: `available_before` plus `available_delta`', '974.92')
  available_after!: string;

  @ApiRoubles('Amount held for orders before the change, in roubles', '25.08')
  held_before!: string;

  @ApiRoubles('Change in the held amount, in roubles', '-25.08')
  held_delta!: string;

  @ApiRoubles('Amount held after the change: `held_before` plus `held_delta`', '0.00')
  held_after!: string;
}

export class BalanceChangesPage extends PageOf(BalanceChangeOut) {}
