import { CountryNotAvailable, NotEnoughProxies, UnsupportedPeriod } from '../catalog';
import { type DomainError, ServiceUnavailable } from '../common';
import type { OrderFailure, OrderKind } from './order-states';
import { CannotBeProlonged } from './orders.errors';

/** `Retry-After` while the queue is too long, in seconds. */
const BUSY_RETRY_AFTER_SECONDS = 5;

const unavailable = (): DomainError => new ServiceUnavailable();

/**
 * Error for the caller, by the reason why the order was canceled. Nothing was bought or charged. The database
 * function `public_failure` groups the reasons in the same way, for events and renewals.
 */
const ERROR_OF_FAILURE: Readonly<Record<OrderFailure, (kind: OrderKind) => DomainError>> = {
  count: () => new NotEnoughProxies(),
  period: () => new UnsupportedPeriod(),
  country: () => new CountryNotAvailable(),
  'out-of-stock': () => new NotEnoughProxies(),
  'not-found': (kind) => (kind === 'prolongation' ? new CannotBeProlonged() : unavailable()),
  'out-of-funds': unavailable,
  misconfigured: unavailable,
  request: unavailable,
  unavailable,
  busy: () => new ServiceUnavailable({ retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS }),
  'not-sent': unavailable,
  'nothing-found': unavailable,
  staff: unavailable,
};

export const ORDER_FAILURES = Object.keys(ERROR_OF_FAILURE) as readonly OrderFailure[];

const isOrderFailure = (text: string | null): text is OrderFailure =>
  text !== null && Object.hasOwn(ERROR_OF_FAILURE, text);

/** @param failure as stored; a newer replica may have stored a reason that this one does not know */
export function errorOfFailure(kind: OrderKind, failure: string | null): DomainError {
  return isOrderFailure(failure) ? ERROR_OF_FAILURE[failure](kind) : unavailable();
}
