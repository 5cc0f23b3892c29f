import { DomainError, domainError } from '../common';

/** The operator has named no judge. */
export class TrialsSwitchedOff extends domainError('not-found', 'Checks of proxies are switched off') {}

/** Whoever asks the judge without a trial learns nothing, as if it were not there. */
export class NothingToJudge extends domainError('not-found', 'Not Found') {}

/** The user, or all users together, have too many under way. */
export class TooManyTrials extends DomainError {
  readonly kind = 'rate-limited';

  constructor() {
    super('Too many checks at once', { retryAfterSeconds: 1 });
  }
}
