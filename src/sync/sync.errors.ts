import { domainError } from '../common';

/** A staff decision applies only to the number of missing proxies that was shown at the time. */
export class MissingProxiesChanged extends domainError(
  'conflict',
  'The number of missing proxies has changed',
) {}

export class NotInMaintenance extends domainError('conflict', 'The service is not closed for maintenance') {}

export class DatabaseWasRestored extends domainError(
  'conflict',
  'The database was restored, so nothing_was_lost is refused: maintenance ends when everything is decided',
) {}

export class MaintenanceNotOver extends domainError(
  'conflict',
  (toBeDone: readonly string[]) => `The service stays closed for maintenance: ${toBeDone.join('; ')}`,
) {}

export class TooFewUnmatchedProxies extends domainError(
  'conflict',
  'The request names more unmatched proxies with this order reference than await a decision',
) {}

export class UnmatchedProxiesIncomplete extends domainError(
  'conflict',
  'The provider does not report the country or the version of this proxy',
) {}

/** The order id in a reference is reserved for the user whom the reference names. */
export class NamedUserFirst extends domainError(
  'conflict',
  'The proxies must first be delivered to the user named by the order reference',
) {}

export class FoundProlongationNotFound extends domainError(
  'not-found',
  'There is no found prolongation with this id',
) {}

export class FoundProlongationDecided extends domainError(
  'conflict',
  'Staff have already decided what to do about this prolongation',
) {}

export class UnmatchedProxyNotFound extends domainError('not-found', 'Unmatched proxy not found') {}

export class UnmatchedProxyAssigned extends domainError(
  'conflict',
  'The unmatched proxy is already assigned to an order',
) {}

/** Open purchases are excluded, because they may still get the proxy themselves. */
export class OrderNotAssignable extends domainError(
  'conflict',
  'Unmatched proxies can be assigned only to closed purchases',
) {}

const RETRY_AFTER_SECONDS = 5;

export class ProxyEnded extends domainError('conflict', 'The rental of this proxy has ended') {}

export class ProxyWithdrawn extends domainError('conflict', 'The provider has withdrawn this proxy') {}

export class ProxyGone extends domainError('conflict', 'The provider no longer has this proxy') {}

export class TypeChangeRefused extends domainError(
  'conflict',
  'The provider refuses to change the type of this proxy',
) {}

export class TypeChangeInProgress extends domainError('conflict', 'The type of this proxy is being changed', {
  retryAfterSeconds: RETRY_AFTER_SECONDS,
}) {}

/** The provider may have changed the type, or may still change it. A retry shows the outcome. */
export class TypeChangeUncertain extends domainError(
  'unavailable',
  'Service temporarily unavailable: it is not known yet whether the type has changed',
  { retryAfterSeconds: RETRY_AFTER_SECONDS },
) {}

/** It is certain that nothing was changed. The log contains the reason. */
export class TypeChangesUnavailable extends domainError(
  'unavailable',
  'Service temporarily unavailable: types cannot be changed at the moment',
) {}
