/**
 * Why a provider said no. `out-of-funds` and `misconfigured` are ours to mend; the others are about what was asked.
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

/** What a call to a provider throws: always one of the three kinds below, because money hangs on the difference. */
export abstract class ProviderError extends Error {}

/** The provider answered no: nothing happened. */
export class ProviderRefused extends ProviderError {
  override readonly name = 'ProviderRefused';

  constructor(readonly reason: RefusalReason) {
    super(`the provider refused: ${reason}`);
  }
}

/** The request certainly never reached the provider: nothing happened. */
export class ProviderUnavailable extends ProviderError {
  override readonly name: string = 'ProviderUnavailable';
}

/** A circuit breaker is open: the provider is not asked until a probe says that it works again. */
export class ProviderClosed extends ProviderUnavailable {
  override readonly name: string = 'ProviderClosed';

  constructor(
    reason: string,
    readonly retryAfterSeconds: number,
  ) {
    super(reason);
  }
}

/**
 * The request may have reached the provider, and no usable answer came: it may have happened.
 * `rateLimited`: the provider answered 429, by whose documentation it did nothing.
 */
export class ProviderOutcomeUnknown extends ProviderError {
  override readonly name = 'ProviderOutcomeUnknown';

  constructor(
    message: string,
    readonly rateLimited = false,
  ) {
    super(message);
  }
}
