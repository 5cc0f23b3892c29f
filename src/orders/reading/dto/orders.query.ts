import {
  ChoiceField,
  FromField,
  IntegerField,
  PageQuery,
  StrictRequest,
  StringField,
  ToField,
} from '../../../http';
import { ALL_PUBLIC_STATES, ORDER_KINDS, type OrderKind, type PublicState } from '../../order-states';

export const LONGEST_WAIT_SECONDS = 30;

const ORDER_SORTS = ['newest', 'oldest'] as const;

export class OrdersQuery extends PageQuery {
  @ChoiceField(ALL_PUBLIC_STATES, { description: 'The state of the order', absent: 'null' })
  state!: PublicState | null;

  @ChoiceField(ORDER_KINDS, { description: 'A purchase or a prolongation', absent: 'null' })
  kind!: OrderKind | null;

  @FromField()
  from!: Date | null;

  @ToField()
  to!: Date | null;

  @StringField({
    description:
      'The `Idempotency-Key` of the request, which selects a single order, or all orders of a bulk ' +
      'request. Canceled orders may share a key',
    absent: 'null',
    maxLength: 255,
    pattern: '^[!-~]+$',
  })
  key!: string | null;

  @ChoiceField(ORDER_SORTS, {
    description:
      'The sort order. With `oldest`, you can follow new orders: send the highest `id` that you know ' +
      'as `cursor` to get the orders placed after it',
    default: 'newest',
  })
  sort!: (typeof ORDER_SORTS)[number];
}

@StrictRequest()
export class OrderWaitQuery {
  @IntegerField({
    description:
      'How many seconds to wait while the order is `open` or `being_confirmed`. The response is sent ' +
      'as soon as the order is closed, or, once this time is over, with the current state',
    example: 30,
    atLeast: 0,
    atMost: LONGEST_WAIT_SECONDS,
    default: 0,
  })
  wait!: number;
}
