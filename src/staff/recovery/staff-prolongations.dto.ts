import type { Money } from '../../common';
import { AmountField, ChoiceField, IdField, PageOf, PageQuery, StrictRequest, TextField } from '../../http';
import {
  FOUND_PROLONGATION_STATES,
  FoundProlongationOut,
  type FoundProlongationState,
} from '../../inventory';

export class FoundProlongationsQuery extends PageQuery {
  @ChoiceField(FOUND_PROLONGATION_STATES, { description: 'What was decided about them', absent: 'null' })
  state!: FoundProlongationState | null;
}

export class FoundProlongationsPage extends PageOf(FoundProlongationOut) {}

@StrictRequest()
export class ChargeRequest {
  @IdField({ description: 'Days. Left out: those that were found', absent: 'null' })
  period!: number | null;

  @AmountField({ description: 'Roubles that the user pays' })
  price!: Money;

  @AmountField({ description: 'Roubles that the provider took. Left out: the price', absent: 'null' })
  cost!: Money | null;

  @TextField()
  reason!: string;
}
