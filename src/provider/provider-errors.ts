/**
 * The reason why a call was refused. `out-of-funds` and `misconfigured` are our faults; the others concern
 * the request.
 */
export type RefusalReason =
  | 'count'
  | 'period'
  | 'country'
  | 'out-of-stock'
  | 'not-found'
  | 'out-of-funds'
  | 'misconfigured'
  | 'request';

/** Its three kinds state whether the provider may have acted, because money depends on it. */
export abstract class ProviderError extends Error {
  abstract readonly outcome: 'refused' | 'unavailable' | 'unknown';

  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** The provider refused the request, and did nothing. */
export class ProviderRefused extends ProviderError {
  readonly outcome = 'refused';

  constructor(readonly reason: RefusalReason) {
    super(`the provider refused: ${reason}`);
  }
}

/** The request certainly never reached the provider, which did nothing. */
export class ProviderUnavailable extends ProviderError {
  readonly outcome = 'unavailable';
}

/** The request was not sent, because a circuit breaker is open or our balance is too low. */
export class ProviderClosed extends ProviderUnavailable {
  constructor(
    reason: string,
    readonly retryAfterSeconds: number,
  ) {
    super(reason);
  }
}

/** The request got no rate permit in time and was not sent. This proves nothing about the provider. */
export class NoPermitInTime extends ProviderUnavailable {
  constructor() {
    super('no rate permit was free in time');
  }
}

/** The request may have reached the provider, and there is no usable response: it may have acted. */
export class ProviderOutcomeUnknown extends ProviderError {
  readonly outcome = 'unknown';

  /** @param rateLimited the provider returned 429, which has no effect by its documentation */
  constructor(
    message: string,
    readonly rateLimited = false,
  ) {
    super(message);
  }
}

/** The provider responded with content that cannot be read. A retry does not help, and the provider works. */
export class ProviderUnreadable extends ProviderOutcomeUnknown {}

/** The provider returned 429, or 503 instead of it: this key makes too many calls, perhaps from elsewhere. */
export class TooManyCalls extends ProviderOutcomeUnknown {}
