import { domainError } from '../common';

/** `Retry-After` while an order or a change of type is open. */
const RETRY_AFTER_SECONDS = 5;

export class RefundWaits extends domainError(
  'conflict',
  'An order or a type change of this proxy is in progress',
  { retryAfterSeconds: RETRY_AFTER_SECONDS },
) {}

export class ProxyRefundNotFound extends domainError('not-found', 'Refund not found') {}

/** Thrown if the rule does not leave the refund to staff, or a colleague has already decided. */
export class RefundNotForStaff extends domainError(
  'conflict',
  'The refund does not await a decision by staff',
) {}
