import type { Money } from '../../common';
import { AmountField, ChoiceField, IdField, PageOf, PageQuery, SearchField } from '../../http';
import {
  FOUND_PROLONGATION_STATES,
  FoundProlongationOut,
  type FoundProlongationState,
  UNMATCHED_PROXY_STATES,
  UnmatchedProxyOut,
  type UnmatchedProxyState,
} from '../../sync';
import { ReasonRequest } from '../fields';

export const UNMATCHED_PROXY_MARKS = ['open', 'written-off'] as const;
export type UnmatchedProxyMark = (typeof UNMATCHED_PROXY_MARKS)[number];

export class UnmatchedProxiesQuery extends PageQuery {
  @ChoiceField(UNMATCHED_PROXY_STATES, { description: 'The decision', absent: 'null' })
  state!: UnmatchedProxyState | null;

  @SearchField({ description: 'The whole order reference under which the provider lists them' })
  order_reference!: string | null;
}

export class UnmatchedProxiesPage extends PageOf(UnmatchedProxyOut) {}

export class AssignmentRequest extends ReasonRequest {
  @IdField({ description: 'The purchase' })
  order_id!: number;
}

export class DeliveryRequest extends ReasonRequest {
  @IdField({ description: 'The user to whom they are delivered' })
  user_id!: number;

  @IdField({
    description: 'The number of unmatched proxies of this order reference, this one first. If omitted, all',
    absent: 'null',
  })
  count!: number | null;

  @IdField({
    description: 'The period in days. If omitted, from their start to their end',
    absent: 'null',
  })
  period!: number | null;

  @AmountField({ description: 'Roubles that the user pays for each' })
  price!: Money;

  @AmountField({
    description: "The provider's charge for each, in roubles. If omitted, the price",
    absent: 'null',
  })
  cost!: Money | null;
}

export class MarkUnmatchedProxyRequest extends ReasonRequest {
  @ChoiceField(UNMATCHED_PROXY_MARKS, {
    description: '`written-off`: it stays our cost; `open`: review it again',
  })
  state!: UnmatchedProxyMark;
}

export class FoundProlongationsQuery extends PageQuery {
  @ChoiceField(FOUND_PROLONGATION_STATES, { description: 'The decision', absent: 'null' })
  state!: FoundProlongationState | null;
}

export class FoundProlongationsPage extends PageOf(FoundProlongationOut) {}

export class ChargeProlongationRequest extends ReasonRequest {
  @IdField({
    description: 'Days. If omitted, all that were found. If fewer, the rest stays open as another one',
    absent: 'null',
  })
  period!: number | null;

  @AmountField({ description: 'Roubles that the user pays' })
  price!: Money;

  @AmountField({ description: "The provider's charge, in roubles. If omitted, the price", absent: 'null' })
  cost!: Money | null;
}
