import { DomainError, domainError, type Money } from '../common';
import { type Refusal, RequestInvalid } from '../http';

export class UnsupportedProxyType extends domainError('bad-request', 'Unsupported proxy type') {}

/** The limit is the token's, not the user's: another token of theirs may still order. */
export class DailyLimitExceeded extends domainError(
  'bad-request',
  'Daily spending limit of the token exceeded',
) {}

/** The provider no longer has the proxy. */
export class CannotBeProlonged extends domainError('bad-request', 'Proxy can no longer be prolonged') {}

/** The order costs more by now than its caller allowed. */
export class PriceAboveMax extends DomainError {
  readonly kind = 'conflict';

  /** @param price what the whole order costs */
  constructor(price: Money, maxPrice: Money) {
    super(`The price is ${price.toString()}, above the max_price of ${maxPrice.toString()}`);
  }
}

/** What is in progress ends soon. A caller who is told when to come again may repeat the request as it is. */
const IN_PROGRESS_RETRY_AFTER_SECONDS = 2;

export class ProlongationInProgress extends DomainError {
  readonly kind = 'conflict';

  constructor() {
    super('A prolongation of this proxy is in progress', {
      retryAfterSeconds: IN_PROGRESS_RETRY_AFTER_SECONDS,
    });
  }
}

/** Where an order that is not closed yet is told of. */
const locationOf = (orderId: number) => ({ Location: `/orders/${orderId}` });

export class KeyInProgress extends DomainError {
  readonly kind = 'conflict';

  /** @param orderId of the order under this key, if it is known */
  constructor(orderId?: number) {
    super('A request with this Idempotency-Key is in progress', {
      retryAfterSeconds: IN_PROGRESS_RETRY_AFTER_SECONDS,
      headers: orderId === undefined ? {} : locationOf(orderId),
    });
  }
}

/** The first checks come quickly. */
const RETRY_AFTER_SECONDS = 5;

/**
 * The outcome is unknown. The money stays held until the order is settled in the background. An order that
 * may not even have been placed is named by its request.
 */
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

/** Staff decide only about orders in review; or a colleague was quicker. */
export class OrderNotInReview extends domainError('conflict', 'The order is not in review') {}

export class NothingToDeliver extends domainError(
  'conflict',
  'The provider shows nothing of this order that could be delivered',
) {}

/** Staff decide about the number of proxies that they have seen. */
export class MissingProxiesChanged extends domainError(
  'conflict',
  'Another number of proxies is missing by now',
) {}

export class ProxyBelongsToAnother extends domainError('conflict', 'The proxy belongs to another order') {}

/** @param left roubles that can still be refunded */
export class RefundTooLarge extends DomainError {
  readonly kind = 'conflict';

  constructor(left: Money) {
    super(
      left.isPositive()
        ? `Only ${left.toString()} of this order is left to refund`
        : 'Nothing of this order is left to refund',
    );
  }
}

export class NoRecovery extends domainError('conflict', 'There is no recovery') {}

/** Something that was sold after the restored moment may not be found or decided yet. */
export class RecoveryNotOver extends DomainError {
  readonly kind = 'conflict';

  constructor(toBeDone: readonly string[]) {
    super(`Orders stay shut: ${toBeDone.join('; ')}`);
  }
}

export class TooFewOrphans extends domainError(
  'conflict',
  'Fewer orphans of this tag are undecided than were asked for',
) {}

/** A listing may lack them. */
export class OrphansIncomplete extends domainError(
  'conflict',
  'The provider does not tell the country or the version of this proxy',
) {}

/** The id that the tag names is to be the order of the user that it names. */
export class TaggedUserFirst extends domainError(
  'conflict',
  'Deliver first to the user whom the tag names what is theirs',
) {}

export class FoundProlongationNotFound extends domainError('not-found', 'Found prolongation not found') {}

export class FoundProlongationDecided extends domainError(
  'conflict',
  'The found prolongation is decided already',
) {}

export class OrphanNotFound extends domainError('not-found', 'Orphan not found') {}

export class OrphanAssigned extends domainError('conflict', 'The orphan is assigned to an order already') {}

/** A prolongation has no proxies, and an open order may still account for the orphan itself. */
export class OrphansGoToPurchases extends domainError(
  'conflict',
  'Orphans are assigned to purchases that are closed',
) {}

export class ProxyEnded extends domainError('conflict', 'The rental of this proxy has ended') {}

export class ProxyWithdrawn extends domainError('conflict', 'The provider has withdrawn this proxy') {}

export class ProxyGone extends domainError('conflict', 'The provider no longer has this proxy') {}

export class TypeCannotBeChanged extends domainError(
  'conflict',
  'The provider does not change the type of this proxy',
) {}

/** Changes of one proxy come one after the other. */
export class TypeChangeInProgress extends DomainError {
  readonly kind = 'conflict';

  constructor() {
    super('The type of this proxy is being changed', { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }
}

/** The provider may have changed the type, or may do so yet. Asking once more finds out. */
export class TypeChangeUncertain extends DomainError {
  readonly kind = 'unavailable';

  constructor() {
    super('Service temporarily unavailable: whether the type has changed is not known yet', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }
}

/** It is certain that nothing was changed. Staff are told in the log. */
export class TypesCannotBeChanged extends domainError(
  'unavailable',
  'Service temporarily unavailable: types cannot be changed at present',
) {}

const KEY_LOCATION = ['header', 'Idempotency-Key'];

export class IdempotencyKeyInvalid extends RequestInvalid {
  constructor(refusal: Refusal) {
    super([refusal.at(...KEY_LOCATION)]);
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
