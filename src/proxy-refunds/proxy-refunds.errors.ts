import { domainError } from '../common';

const RETRY_AFTER_SECONDS = 5;

export class RefundWaits extends domainError(
  'conflict',
  'An order or a type change for this proxy is in progress',
  { retryAfterSeconds: RETRY_AFTER_SECONDS },
) {}

export class ProxyRefundNotFound extends domainError('not-found', 'Refund not found') {}

/** Thrown if the refund was not left to staff, or a colleague has already decided. */
export class RefundNotForStaff extends domainError(
  'conflict',
  'The refund is not awaiting a decision by staff',
) {}
