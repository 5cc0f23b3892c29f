import { domainError } from '../../common';

/** The operator has configured no bot. */
export class SignInDisabled extends domainError('not-found', 'Signing in with Telegram is disabled') {}

abstract class SignInRefused extends domainError('not-authenticated', (detail: string) => detail, {
  headers: { 'WWW-Authenticate': 'Bearer' },
}) {}

/** The data is not from Telegram for our Mini App. The response does not say why. */
export class InvalidInitData extends SignInRefused {
  constructor() {
    super('initData is not valid');
  }
}

/** The data was valid, so its sender may learn that it is too old. */
export class InitDataTooOld extends SignInRefused {
  constructor() {
    super('initData is too old: open the app again');
  }
}

/** Telegram vouches for this person, but staff have not made them a customer. */
export class NoAccount extends domainError('forbidden', 'No account belongs to this Telegram user') {}
