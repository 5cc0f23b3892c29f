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

  @SearchField({ description: 'The complete order reference under which the provider lists the proxies' })
  order_reference!: string | null;
}

export class UnmatchedProxiesPage extends PageOf(UnmatchedProxyOut) {}

export class AssignmentRequest extends ReasonRequest {
  @IdField({ description: 'The purchase' })
  order_id!: number;
}

export class DeliveryRequest extends ReasonRequest {
  @IdField({ description: 'The user who receives the proxies' })
  user_id!: number;

  @IdField({
    description:
      'How many unmatched proxies with this order reference to deliver, starting with this one. ' +
      'Defaults to all of them',
    absent: 'null',
  })
  count!: number | null;

  @IdField({
    description: 'The period in days. Defaults to the time from the start to the end of the rental',
    absent: 'null',
  })
  period!: number | null;

  @AmountField({ description: 'The price that the user pays for each proxy, in roubles' })
  price!: Money;

  @AmountField({
    description: 'The amount that the provider charged for each proxy, in roubles. Defaults to `price`',
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
    description:
      'The number of days to charge. Defaults to all found days. If it is lower, the remaining days ' +
      'stay open as another found prolongation',
    absent: 'null',
  })
  period!: number | null;

  @AmountField({ description: 'The price that the user pays, in roubles' })
  price!: Money;

  @AmountField({
    description: 'The amount that the provider charged, in roubles. Defaults to `price`',
    absent: 'null',
  })
  cost!: Money | null;
}
