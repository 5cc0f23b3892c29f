import { DomainError, domainError } from '../../common';

/** The operator has named no bot. */
export class SignInSwitchedOff extends domainError('not-found', 'Sign-in with Telegram is switched off') {}

abstract class SignInRefused extends DomainError {
  readonly kind = 'not-authenticated';

  constructor(detail: string) {
    super(detail, { headers: { 'WWW-Authenticate': 'Bearer' } });
  }
}

/** It is not what Telegram gave to our Mini App. The answer does not say why not. */
export class InvalidInitData extends SignInRefused {
  constructor() {
    super('initData is not valid');
  }
}

/** It was valid, so the one who sent it may know that it is too old. */
export class InitDataTooOld extends SignInRefused {
  constructor() {
    super('initData is too old: open the app again');
  }
}

/** Telegram vouches for this person, whom nobody has made a customer. */
export class NoAccount extends domainError('forbidden', 'No account belongs to this Telegram user') {}
