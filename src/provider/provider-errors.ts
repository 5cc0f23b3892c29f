/**
 * What was wrong with a call. `out-of-funds` and `misconfigured` are ours to repair; the others concern the
 * request.
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

/** The three kinds below tell whether the provider may have acted, because money depends on it. */
export abstract class ProviderError extends Error {
  abstract readonly outcome: 'refused' | 'unavailable' | 'unknown';
}

/** The provider answered no, and did nothing. */
export class ProviderRefused extends ProviderError {
  override readonly name = 'ProviderRefused';
  readonly outcome = 'refused';

  constructor(readonly reason: RefusalReason) {
    super(`the provider refused: ${reason}`);
  }
}

/** The request certainly never reached the provider, which did nothing. */
export class ProviderUnavailable extends ProviderError {
  override readonly name: string = 'ProviderUnavailable';
  readonly outcome = 'unavailable';
}

/** The request was not sent, because a circuit breaker is open or our balance is too low. */
export class ProviderClosed extends ProviderUnavailable {
  override readonly name: string = 'ProviderClosed';

  constructor(
    reason: string,
    readonly retryAfterSeconds: number,
  ) {
    super(reason);
  }
}

/** The request was not sent, for want of a rate permit in time. This says nothing about the provider. */
export class NoPermitInTime extends ProviderUnavailable {
  override readonly name: string = 'NoPermitInTime';

  constructor() {
    super('no rate permit was free in time');
  }
}

/** The request may have reached the provider, and there is no usable answer: it may have acted. */
export class ProviderOutcomeUnknown extends ProviderError {
  override readonly name: string = 'ProviderOutcomeUnknown';
  readonly outcome = 'unknown';

  /** @param rateLimited the provider answered 429; its documentation says that it did nothing then */
  constructor(
    message: string,
    readonly rateLimited = false,
  ) {
    super(message);
  }
}

/** The provider answered 429, or 503 in its place: this key makes too many calls, perhaps from elsewhere. */
export class TooManyCalls extends ProviderOutcomeUnknown {}
