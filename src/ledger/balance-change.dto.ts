import { ApiChoice, ApiInteger, ApiMoment, ApiNullable, ApiRoubles, PageOf } from '../http';
import { SHOWN_KINDS, type ShownKind } from './shown-kind';

/** A ledger entry as the customer sees it. */
export class BalanceChangeOut {
  @ApiInteger('Counts the changes of the balance, from 1 without gaps', 3)
  seq!: number;

  @ApiMoment()
  created_at!: Date;

  @ApiChoice(
    SHOWN_KINDS,
    '`hold`: held for an order. `capture`: charged from the held amount for delivered proxies. ' +
      '`release`: the rest of the held amount, returned. `refund`: a captured amount, returned. ' +
      '`credit` and `debit`: added to and taken from the balance by the shop',
    'capture',
  )
  kind!: ShownKind;

  @ApiNullable('integer', 'The order that the change is for', 815)
  order_id!: number | null;

  @ApiNullable('integer', 'The deposit that the change is for', null)
  deposit_id!: number | null;

  @ApiRoubles('Available roubles before the change', '974.92')
  available_before!: string;

  @ApiRoubles('The change of that amount', '0.00')
  available_delta!: string;

  @ApiRoubles('Available roubles after the change: the sum of the two', '974.92')
  available_after!: string;

  @ApiRoubles('Roubles held for orders before the change', '25.08')
  held_before!: string;

  @ApiRoubles('The change of that amount', '-25.08')
  held_delta!: string;

  @ApiRoubles('Roubles held after the change: the sum of the two', '0.00')
  held_after!: string;
}

export class BalanceChangesPage extends PageOf(BalanceChangeOut) {}
