import { DomainError, domainError, type Money } from '../common';
import { type InputMistake, RequestInvalid } from '../http';

export class UnsupportedProxyType extends domainError('bad-request', 'Unsupported proxy type') {}

/** These routes' API contract must not change and has no `code` field, so a header identifies the error. */
const refusedAs = (code: string) => ({ headers: { 'Order-Refusal': code } });

export class DailyLimitExceeded extends domainError(
  'bad-request',
  'Daily spending limit of the token exceeded',
  refusedAs('daily-limit-exceeded'),
) {}

export class CannotBeProlonged extends domainError('bad-request', 'Proxy can no longer be prolonged') {}

export class PriceAboveMax extends domainError(
  'conflict',
  /** @param price of the whole order */
  (price: Money, maxPrice: Money) =>
    `The price is ${price.toString()}, above the max_price of ${maxPrice.toString()}`,
  refusedAs('price-above-max'),
) {}

const IN_PROGRESS_RETRY_AFTER_SECONDS = 2;

export class ProlongationInProgress extends domainError(
  'conflict',
  'A prolongation of this proxy is in progress',
  { retryAfterSeconds: IN_PROGRESS_RETRY_AFTER_SECONDS },
) {}

const locationOf = (orderId: number) => ({ Location: `/orders/${orderId}` });

export class IdempotencyKeyInProgress extends domainError(
  'conflict',
  'A request with this Idempotency-Key is in progress',
  (orderId?: number) => ({
    retryAfterSeconds: IN_PROGRESS_RETRY_AFTER_SECONDS,
    headers: orderId === undefined ? {} : locationOf(orderId),
  }),
) {}

export class RequestWrittenOff extends domainError(
  'conflict',
  'The order of this Idempotency-Key was lost and written off; nothing was charged. Order again under ' +
    'a new key',
  refusedAs('request-written-off'),
) {}

/** Short, because the first searches at the provider follow soon. */
const RETRY_AFTER_SECONDS = 5;

/** Thrown if the outcome is unknown. The money stays held until the order is settled in the background. */
export class OrderBeingConfirmed extends DomainError {
  readonly kind = 'unavailable';

  constructor(order: { readonly orderId: number } | { readonly requestId: string | null }) {
    const name = 'orderId' in order ? `order ${order.orderId}` : `the order of request ${order.requestId}`;
    super(`Service temporarily unavailable: ${name} is being confirmed`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
      headers: 'orderId' in order ? locationOf(order.orderId) : {},
    });
  }
}

export class OrderNotFound extends domainError('not-found', 'Order not found') {}

export class OrderNotInReview extends domainError('conflict', 'The order is not in review') {}

export class NothingToDeliver extends domainError(
  'conflict',
  'The provider lists nothing that can be delivered for this order',
) {}

export class ProxyBelongsToAnother extends domainError('conflict', 'The proxy belongs to another order') {}

export const PROXY_OF_ANOTHER = { proxies_provider_proxy_id_key: ProxyBelongsToAnother };

export class OrderRefundTooLarge extends domainError('conflict', (left: Money) =>
  left.isPositive()
    ? `At most ${left.toString()} of this order can be refunded`
    : 'This order has no refundable amount left',
) {}

const KEY_LOCATION = ['header', 'Idempotency-Key'];

export class IdempotencyKeyInvalid extends RequestInvalid {
  constructor(mistake: InputMistake) {
    super([mistake.at(...KEY_LOCATION)]);
  }
}

export class IdempotencyKeyMissing extends RequestInvalid {
  constructor() {
    super([{ type: 'missing', loc: KEY_LOCATION, msg: 'Field required', input: null }]);
  }
}

export class IdempotencyKeyReused extends RequestInvalid {
  constructor(input: string) {
    super([
      {
        type: 'idempotency_key_reused',
        loc: KEY_LOCATION,
        msg: 'Idempotency-Key was used with another request',
        input,
      },
    ]);
  }
}
