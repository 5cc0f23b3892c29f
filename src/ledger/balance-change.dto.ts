import { ApiChoice, ApiInteger, ApiMoment, ApiNullable, ApiRoubles, PageOf } from '../http';
import { SHOWN_KINDS, type ShownKind } from './shown-kind';

/** A ledger entry for its customer. */
export class BalanceChangeOut {
  @ApiInteger('Counts the changes of the balance, from 1 without gaps', 3)
  seq!: number;

  @ApiMoment()
  created_at!: Date;

  @ApiChoice(
    SHOWN_KINDS,
    '`hold`: set aside for an order. `capture`: taken of what was held, for what was delivered. ' +
      '`release`: given back of what was held. `refund`: given back of what was captured. `credit` and ' +
      '`debit`: put on the balance and taken from it by the shop',
    'capture',
  )
  kind!: ShownKind;

  @ApiNullable('integer', 'The order that it belongs to', 815)
  order_id!: number | null;

  @ApiNullable('integer', 'The deposit that it belongs to', null)
  deposit_id?: number | null;

  @ApiRoubles('Roubles that could be spent before the change', '974.92')
  available_before!: string;

  @ApiRoubles('By how much that changed', '0.00')
  available_delta!: string;

  @ApiRoubles('Roubles that could be spent after it: the sum of the two', '974.92')
  available_after!: string;

  @ApiRoubles('Roubles held for orders before the change', '25.08')
  held_before!: string;

  @ApiRoubles('By how much that changed', '-25.08')
  held_delta!: string;

  @ApiRoubles('Roubles held after it: the sum of the two', '0.00')
  held_after!: string;
}

export class BalanceChangesPage extends PageOf(BalanceChangeOut) {}
