/** Reason for a refusal. `out-of-funds` and `misconfigured` are our fault; the others are the request's. */
export type ProviderRefusal =
  | 'count'
  | 'period'
  | 'country'
  | 'out-of-stock'
  | 'not-found'
  | 'out-of-funds'
  | 'misconfigured'
  | 'request';

/** An error of a provider call. Its subclass shows whether the provider may have acted. */
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

  constructor(readonly reason: ProviderRefusal) {
    super(`the provider refused: ${reason}`);
  }
}

/** The request never reached the provider, so the provider did nothing. */
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

/** The provider may have received the request and acted on it. There is no usable response. */
export class ProviderOutcomeUnknown extends ProviderError {
  readonly outcome = 'unknown';

  /** @param rateLimited whether the provider returned 429, which is documented to rule out any effect */
  constructor(
    message: string,
    readonly rateLimited = false,
  ) {
    super(message);
  }
}

/** The provider's response is unreadable. The provider is working, so a retry would not help. */
export class ProviderUnreadable extends ProviderOutcomeUnknown {}

/** The provider returned 429 or 503, because too many calls used this key, perhaps not only ours. */
export class TooManyCalls extends ProviderOutcomeUnknown {}
