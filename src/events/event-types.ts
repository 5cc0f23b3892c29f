import { ID_PATTERN } from '../common';

export interface EventTypeDefinition {
  readonly description: string;
  /** Descriptions of the fields, for customers. */
  readonly data: Readonly<Record<string, string>>;
  /** Contains exactly the fields of `data`. */
  readonly example: Readonly<Record<string, unknown>>;
}

const AT = '2026-11-28T12:00:00.000Z';
const BEFORE = '2026-11-21T12:00:00.000Z';

const ORDER = {
  order_id: 'The `id` of the order',
  kind: '`purchase`, `prolongation`',
  state: 'The state of the order, as in `GET /orders`',
  count: 'The number of proxies ordered',
  delivered: 'The number of proxies delivered or prolonged',
  price: 'Roubles charged',
  reason:
    'Why the order was canceled: `not-enough-proxies`, `period-not-sold`, `country-not-sold`, ' +
    '`cannot-be-prolonged`, `unavailable`. Otherwise `null`',
};
const ORDER_EXAMPLE = { order_id: 42, kind: 'purchase', count: 2, reason: null };

const PROXY_ID = { proxy_id: 'The `id` of the proxy' };
const PROXY_END = { ...PROXY_ID, date_end: 'The end of the rental' };

const BALANCE = {
  seq: 'The `seq` of the change in `GET /ledger`',
  order_id: 'The refunded order. Otherwise `null`',
  amount: 'Roubles added',
  available: 'Available balance afterwards, in roubles',
};

const DEPOSIT = {
  deposit_id: 'The `id` of the deposit',
  state: 'The state of the deposit, as in `GET /deposits`',
  amount: 'The amount of the deposit, in roubles',
};

const RENEWAL = {
  ...PROXY_END,
  period: 'Days',
  price: 'Roubles, or `null` if unknown',
};
const RENEWAL_EXAMPLE = { proxy_id: '17', date_end: BEFORE, period: 7, price: '25.08' };

const TOKEN = {
  token_id: 'The `id` of the token',
  name: 'The name of the token, or `null`',
  scopes: 'The scopes of the token',
};
const TOKEN_EXAMPLE = { token_id: 5, name: 'renewals', scopes: ['proxies:read'] };

/** Used for validation, API descriptions and docs/events.md. */
export const EVENT_TYPES = {
  'order.being_confirmed': {
    description: 'The outcome of an order is not known yet, and the money for it remains on hold',
    data: ORDER,
    example: { ...ORDER_EXAMPLE, state: 'being_confirmed', delivered: 0, price: '0.00' },
  },
  'order.completed': {
    description: 'An order was delivered in full',
    data: ORDER,
    example: { ...ORDER_EXAMPLE, state: 'completed', delivered: 2, price: '50.16' },
  },
  'order.partial': {
    description: 'An order was delivered in part, and the money held for the rest was released',
    data: ORDER,
    example: { ...ORDER_EXAMPLE, state: 'partial', delivered: 1, price: '25.08' },
  },
  'order.canceled': {
    description: 'Nothing was delivered or charged',
    data: ORDER,
    example: {
      ...ORDER_EXAMPLE,
      state: 'canceled',
      delivered: 0,
      price: '0.00',
      reason: 'not-enough-proxies',
    },
  },
  'proxy.expiring': {
    description: 'A rental ends soon',
    data: { ...PROXY_END, hours_left: "The reminder's stage, in hours before the end of the rental" },
    example: { proxy_id: '17', date_end: AT, hours_left: 72 },
  },
  'proxy.expired': {
    description: 'A rental has ended',
    data: PROXY_END,
    example: { proxy_id: '17', date_end: AT },
  },
  'proxy.withdrawn': {
    description: 'The provider withdrew a proxy before its rental ended',
    data: PROXY_END,
    example: { proxy_id: '17', date_end: AT },
  },
  'proxy.refunded': {
    description: 'A proxy that did not work was refunded and withdrawn',
    data: { ...PROXY_END, amount: 'Roubles refunded' },
    example: { proxy_id: '17', date_end: AT, amount: '12.54' },
  },
  'proxy.moved': {
    description: 'The host or port of a proxy changed, so read the proxy again',
    data: PROXY_ID,
    example: { proxy_id: '17' },
  },
  'proxy.prolonged': {
    description: 'A rental was extended by more than six hours, for any reason',
    data: { ...PROXY_END, date_end_before: 'The previous end' },
    example: { proxy_id: '17', date_end: AT, date_end_before: BEFORE },
  },
  'balance.credited': {
    description: 'The balance was credited',
    data: BALANCE,
    example: { seq: 7, order_id: null, amount: '500.00', available: '974.92' },
  },
  'balance.refunded': {
    description: 'An order was refunded in whole or in part',
    data: BALANCE,
    example: { seq: 8, order_id: 42, amount: '25.08', available: '1000.00' },
  },
  'balance.low': {
    description: 'The available balance fell below your threshold',
    data: { available: 'Available roubles', threshold: 'The threshold' },
    example: { available: '74.92', threshold: '100.00' },
  },
  'deposit.succeeded': {
    description: 'A deposit was paid, and the balance was credited',
    data: DEPOSIT,
    example: { deposit_id: 12, state: 'succeeded', amount: '1000.00' },
  },
  'deposit.canceled': {
    description: 'A deposit was canceled, or was not paid in time',
    data: DEPOSIT,
    example: { deposit_id: 12, state: 'expired', amount: '1000.00' },
  },
  'deposit.refunded': {
    description: 'A deposit was refunded in whole or in part',
    data: { ...DEPOSIT, amount: 'Roubles refunded' },
    example: { deposit_id: 12, state: 'refunded', amount: '1000.00' },
  },
  'renewal.planned': {
    description:
      'A rental will be renewed. This event is sent a week before the rental ends, and again three days ' +
      'and one day before if the renewal is expected to fail',
    data: {
      ...RENEWAL,
      planned_at: 'The planned time of the order',
      reason: 'Why the renewal is expected to fail. Otherwise `null`',
    },
    example: { ...RENEWAL_EXAMPLE, planned_at: '2026-11-20T12:00:00.000Z', reason: null },
  },
  'renewal.done': {
    description: 'A rental was renewed',
    data: { ...RENEWAL, order_id: 'The `id` of the order of the renewal' },
    example: { ...RENEWAL_EXAMPLE, order_id: 43 },
  },
  'renewal.skipped': {
    description: 'A renewal failed, but will be retried until an hour before the rental ends',
    data: { ...RENEWAL, reason: 'The reason' },
    example: { ...RENEWAL_EXAMPLE, reason: 'balance-short' },
  },
  'renewal.failed': {
    description: 'A renewal failed and will not be retried',
    data: { ...RENEWAL, reason: 'The reason' },
    example: { ...RENEWAL_EXAMPLE, reason: 'price-above-max' },
  },
  'token.created': {
    description: 'A token was issued for your account',
    data: TOKEN,
    example: TOKEN_EXAMPLE,
  },
  'token.revoked': {
    description: 'One of your tokens was revoked',
    data: TOKEN,
    example: TOKEN_EXAMPLE,
  },
  'webhook.disabled': {
    description: 'A webhook was disabled',
    data: {
      webhook_id: 'The `id` of the webhook',
      reason: '`customer` (you), `failing` (for days), `gone` (it returned 410) or `operator`',
    },
    example: { webhook_id: 3, reason: 'failing' },
  },
} as const satisfies Record<string, EventTypeDefinition>;

export type EventType = keyof typeof EVENT_TYPES;

export const isEventType = (text: string): text is EventType => Object.hasOwn(EVENT_TYPES, text);

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Object.keys() returns strings
export const ALL_EVENT_TYPES = Object.keys(EVENT_TYPES) as readonly EventType[];

const ID = 'evt_';

export const EVENT_ID_PATTERN = `^${ID}${ID_PATTERN}$`;
const EVENT_ID = new RegExp(EVENT_ID_PATTERN);

export interface PublishedEvent {
  readonly id: string;
  readonly type: EventType;
  readonly at: Date;
  readonly data: Readonly<Record<string, unknown>>;
}

export const toPublishedEvent = (event: {
  readonly position: number | null;
  readonly type: EventType;
  readonly at: Date;
  readonly data: Readonly<Record<string, unknown>>;
}): PublishedEvent => {
  if (event.position === null) throw new Error('an event must be published before it is shown');
  return { id: eventIdOf(event.position), type: event.type, at: event.at, data: event.data };
};

/** Returns the event's id, which is also the cursor for later events. */
export const eventIdOf = (position: number): string => `${ID}${position}`;

export function positionOf(id: string): number | null {
  return EVENT_ID.test(id) ? Number(id.slice(ID.length)) : null;
}
