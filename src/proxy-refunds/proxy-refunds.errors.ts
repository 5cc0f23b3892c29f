import { domainError } from '../common';

/** `Retry-After` while an order or a change of type is open; they usually end soon. */
const RETRY_AFTER_SECONDS = 5;

export class RefundWaits extends domainError(
  'conflict',
  'An order or a change of type of this proxy is open',
  { retryAfterSeconds: RETRY_AFTER_SECONDS },
) {}

export class ProxyRefundNotFound extends domainError('not-found', 'Refund not found') {}

/**
 * Thrown when staff decide about a refund that the rule does not leave to them, or a colleague was faster.
 */
export class RefundNotForStaff extends domainError('conflict', 'The refund is not left to staff') {}
