import { ApiProperty } from '@nestjs/swagger';
import type { Money } from '../../common';
import {
  AmountField,
  ChoiceField,
  IdField,
  PageOf,
  PageQuery,
  SearchField,
  StrictRequest,
  TextField,
} from '../../http';
import { ORPHAN_STATES, OrphanOut, type OrphanState } from '../../inventory';

export const ORPHAN_MARKS = ['open', 'written-off'] as const;
export type OrphanMark = (typeof ORPHAN_MARKS)[number];

@StrictRequest()
export class AssignmentRequest {
  @IdField()
  order_id!: number;

  @TextField()
  reason!: string;
}

@StrictRequest()
export class DeliveryRequest {
  @ApiProperty({ description: 'The user to whom they are delivered' })
  @IdField()
  user_id!: number;

  @ApiProperty({ description: 'How many orphans of this tag, this one first. Left out: all' })
  @IdField({ optional: true })
  count!: number | null;

  @ApiProperty({
    description: 'For how many days they were bought. Left out: from their beginning to their end',
  })
  @IdField({ optional: true })
  period!: number | null;

  @ApiProperty({ description: 'Roubles that the user pays for each' })
  @AmountField()
  price!: Money;

  @ApiProperty({ description: 'Roubles that the provider took for each. Left out: the price' })
  @AmountField({ optional: true })
  cost!: Money | null;

  @TextField()
  reason!: string;
}

@StrictRequest()
export class MarkRequest {
  @ChoiceField(ORPHAN_MARKS)
  state!: OrphanMark;

  @TextField()
  reason!: string;
}

export class OrphansQuery extends PageQuery {
  @ApiProperty({ description: 'What was decided about them' })
  @ChoiceField(ORPHAN_STATES, { optional: true })
  state!: OrphanState | null;

  @ApiProperty({ description: 'The whole tag under which the provider lists them' })
  @SearchField()
  tag!: string | null;
}

export class OrphansPage extends PageOf(OrphanOut) {}
