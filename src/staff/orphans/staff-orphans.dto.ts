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
  @IdField({ description: 'The user to whom they are delivered' })
  user_id!: number;

  @IdField({ description: 'How many orphans of this tag, this one first. Left out: all', absent: 'null' })
  count!: number | null;

  @IdField({
    description: 'For how many days they were bought. Left out: from their beginning to their end',
    absent: 'null',
  })
  period!: number | null;

  @AmountField({ description: 'Roubles that the user pays for each' })
  price!: Money;

  @AmountField({
    description: 'Roubles that the provider took for each. Left out: the price',
    absent: 'null',
  })
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
  @ChoiceField(ORPHAN_STATES, { description: 'What was decided about them', absent: 'null' })
  state!: OrphanState | null;

  @SearchField({ description: 'The whole tag under which the provider lists them' })
  tag!: string | null;
}

export class OrphansPage extends PageOf(OrphanOut) {}
