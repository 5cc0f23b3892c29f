import { domainError, type Money } from '../../common';
import { MAX_PENDING_DEPOSITS } from '../records/deposit-records';

export class DepositNotFound extends domainError('not-found', 'Deposit not found') {}

export class DepositOutOfBounds extends domainError(
  'bad-request',
  (min: Money, max: Money) => `The amount must be from ${min.toString()} to ${max.toString()}`,
) {}

const RETRY_AFTER_SECONDS = 5;

/** Thrown while it is unknown whether the provider created the payment. */
export class DepositBeingPrepared extends domainError(
  'unavailable',
  (id: number) => `The payment for deposit ${id} is being prepared: retry with the same Idempotency-Key`,
  (id: number) => ({
    headers: { Location: `/deposits/${id}` },
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  }),
) {}

export class PaymentsRefused extends domainError(
  'conflict',
  'The payment provider refused the payment. Nothing was charged, and a retry with this key cannot succeed',
) {}

export class TooManyDeposits extends domainError(
  'rate-limited',
  `At most ${MAX_PENDING_DEPOSITS} deposits can be pending at a time`,
  { retryAfterSeconds: 60 },
) {}

export class UnknownNotifier extends domainError('not-found', 'Not Found') {}
