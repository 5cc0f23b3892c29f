import { CountryNotAvailable, NotEnoughProxies, UnsupportedPeriod } from '../catalog';
import { type DomainError, ServiceUnavailable } from '../common';
import type { FailureReason, OrderKind } from './order-states';
import { CannotBeProlonged } from './orders.errors';

/** `Retry-After` while the queue is too long, in seconds. */
const BUSY_RETRY_AFTER_SECONDS = 5;

const unavailable = (): DomainError => new ServiceUnavailable();

/**
 * Error that a caller gets for each reason why an order was canceled: nothing was bought or charged. The
 * database function `refusal_reason` groups the reasons in the same way, for events and renewals.
 */
const REFUSALS: Readonly<Record<FailureReason, (kind: OrderKind) => DomainError>> = {
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

export const FAILURE_REASONS = Object.keys(REFUSALS) as readonly FailureReason[];

const isFailureReason = (text: string | null): text is FailureReason =>
  text !== null && Object.hasOwn(REFUSALS, text);

/** @param failure as it is stored; a newer replica may have stored a reason that this one does not know */
export function refusalOf(kind: OrderKind, failure: string | null): DomainError {
  return isFailureReason(failure) ? REFUSALS[failure](kind) : unavailable();
}

/** `Retry-After` during maintenance, in seconds. Maintenance takes longer than ten minutes. */
const RETRY_AFTER_SECONDS = 60;

/**
 * Returns the refusal of a request during maintenance. The request had no effect, and may be retried
 * unchanged.
 */
export const closedForMaintenance = (): ServiceUnavailable =>
  new ServiceUnavailable({ retryAfterSeconds: RETRY_AFTER_SECONDS });
