import { domainError } from '../../common';

/** The operator has not configured a bot. */
export class SignInDisabled extends domainError('not-found', 'Signing in with Telegram is disabled') {}

const CHALLENGE = { headers: { 'WWW-Authenticate': 'Bearer' } };

/** Thrown for data that is not from Telegram for our Mini App. The response does not say why. */
export class InvalidInitData extends domainError('not-authenticated', 'initData is not valid', CHALLENGE) {}

/** Thrown for data that is too old. The data was valid, so its sender may safely learn why. */
export class InitDataTooOld extends domainError(
  'not-authenticated',
  'initData is too old: open the app again',
  CHALLENGE,
) {}

/** Telegram vouches for the person, but staff have created no account for them. */
export class NoAccount extends domainError('forbidden', 'No account belongs to this Telegram user') {}
