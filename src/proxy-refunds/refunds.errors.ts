import { domainError } from '../common';

/** Orders and changes of a type usually end soon. */
const RETRY_AFTER_SECONDS = 5;

export class RefundWaits extends domainError(
  'conflict',
  'An order or a change of type of this proxy is open',
  { retryAfterSeconds: RETRY_AFTER_SECONDS },
) {}

export class ProxyRefundNotFound extends domainError('not-found', 'Refund not found') {}

/** Staff decide only refunds that the rule leaves to them, or a colleague was faster. */
export class RefundNotForStaff extends domainError('conflict', 'The refund is not left to staff') {}
