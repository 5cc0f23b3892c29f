import { CountryNotAvailable, NotEnoughProxies, UnsupportedPeriod } from '../catalog';
import { type DomainError, ServiceUnavailable } from '../common';
import type { OrderFailure, OrderKind } from './order-states';
import { CannotBeProlonged } from './orders.errors';

const BUSY_RETRY_AFTER_SECONDS = 5;

const unavailable = (): DomainError => new ServiceUnavailable();

/** Must group the reasons as the database function `public_failure` does. */
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

/** @param failure may be a reason that only a newer replica knows */
export function errorOfFailure(kind: OrderKind, failure: string | null): DomainError {
  return isOrderFailure(failure) ? ERROR_OF_FAILURE[failure](kind) : unavailable();
}
