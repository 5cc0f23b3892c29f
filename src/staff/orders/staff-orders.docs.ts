import { INVALID_PERIOD, missing, notAnInteger, notOneOf, oneOf } from '../../http';
import { ORDER_KINDS } from '../../orders';
import { PostingOut } from '../balances/staff-balances.dto';
import { NOT_FOR_ONESELF, notFound, StaffDocs } from '../staff-docs';
import { DecisionRequest, OrderDetail, OrderOut, OrdersPage, RefundRequest } from './staff-orders.dto';

export const SearchOrdersDocs = () =>
  StaffDocs({
    summary: 'Find orders',
    description:
      'For support and whoever decides orders in review: the orders that match all of the given ' +
      'parameters, newest first. `from` is included and `to` is not. `tag` is the tag of an order, or the ' +
      'one under which it went to the provider in a batch. `provider_proxy_id` and `host` are those of a ' +
      'proxy that the order delivered or prolonged. `request_id` is the `X-Request-Id` of the answer that ' +
      'the customer got. Of a host with more than 2,000 proxies, the orders are sorted by the delivery of ' +
      'the proxy, newest first: the prolongations of what an order delivered, and then that order. A page ' +
      'shows what matches among some 2,000 of its proxies, so it may be short, or empty, and still have a ' +
      'next one.',
    answer: { description: 'A page of orders, newest first', type: OrdersPage },
    errors: { 400: INVALID_PERIOD },
    invalid: notOneOf('kind', oneOf(ORDER_KINDS), 'refund'),
  });

export const ReadOrderDocs = () =>
  StaffDocs({
    summary: 'Show an order',
    description:
      'For support and whoever decides orders in review: everything that is known of an order. Its states ' +
      'with the times at which it entered them, what it did to the balance, the calls to the provider ' +
      'with their answers (the latest 200; very long answers without their list), its proxies (at most ' +
      '1000, without logins and passwords), and what staff changed of it (the latest 50).',
    answer: { description: 'The order', type: OrderDetail },
    errors: { 404: notFound('order') },
    invalid: notAnInteger('order_id', 'last'),
  });

export const DecideOrderDocs = () =>
  StaffDocs({
    summary: 'Decide an order in review',
    description:
      'For support, when the provider did not say what became of an order. `deliver` asks the provider ' +
      'once more, hands over the proxies that it has for the order, charges for them, and returns the ' +
      'rest of the money. `refund` returns all of the money; what the provider has nevertheless becomes ' +
      'an orphan at the next sweep. The orders of a batch are decided one by one.',
    body: DecisionRequest,
    answer: { description: 'The order as it is now', type: OrderOut },
    errors: {
      403: NOT_FOR_ONESELF,
      404: notFound('order'),
      409: [
        'Nothing was changed',
        'The order is not in review',
        'The provider shows nothing of this order that could be delivered',
        'The proxy belongs to another order',
      ],
      503: ['The provider cannot be asked. Nothing was changed', 'Service temporarily unavailable'],
    },
    invalid: missing('body', 'reason'),
  });

const REFUNDED = {
  id: 1240,
  user_id: 42,
  kind: 'refund',
  amount: '12.54',
  reason: 'One of two did not work',
  reference: 'ticket 823',
  balance: '487.46',
  held: '0.00',
  created_at: '2026-11-21T14:00:00.000Z',
  replayed: false,
} satisfies Record<keyof PostingOut, unknown>;

export const RefundOrderDocs = () =>
  StaffDocs({
    summary: 'Refund an order',
    description:
      'For support, when a complaint is justified: returns a part of what was paid for an order, or ' +
      'without `amount` all that is left of it. Several refunds together never exceed what was paid. The ' +
      'proxies stay with the user.',
    body: RefundRequest,
    idempotencyKey: true,
    answer: {
      description: 'The ledger entry, with the balance after it',
      type: PostingOut,
      example: REFUNDED,
    },
    errors: {
      403: NOT_FOR_ONESELF,
      404: notFound('order'),
      409: [
        'Nothing was changed',
        'Nothing of this order is left to refund',
        'Only 12.54 of this order is left to refund',
      ],
    },
    invalid: missing('header', 'Idempotency-Key'),
  });
