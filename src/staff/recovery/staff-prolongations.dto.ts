import { ApiProperty } from '@nestjs/swagger';
import type { Money } from '../../common';
import { AmountField, ChoiceField, IdField, PageOf, PageQuery, StrictRequest, TextField } from '../../http';
import {
  FOUND_PROLONGATION_STATES,
  FoundProlongationOut,
  type FoundProlongationState,
} from '../../inventory';

export class FoundProlongationsQuery extends PageQuery {
  @ApiProperty({ description: 'What was decided about them' })
  @ChoiceField(FOUND_PROLONGATION_STATES, { optional: true })
  state!: FoundProlongationState | null;
}

export class FoundProlongationsPage extends PageOf(FoundProlongationOut) {}

@StrictRequest()
export class ChargeRequest {
  @ApiProperty({ description: 'Days. Left out: those that were found' })
  @IdField({ optional: true })
  period!: number | null;

  @ApiProperty({ description: 'Roubles that the user pays' })
  @AmountField()
  price!: Money;

  @ApiProperty({ description: 'Roubles that the provider took. Left out: the price' })
  @AmountField({ optional: true })
  cost!: Money | null;

  @TextField()
  reason!: string;
}
