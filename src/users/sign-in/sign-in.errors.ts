import { domainError } from '../../common';

export class SignInDisabled extends domainError('not-found', 'Signing in with Telegram is disabled') {}

const CHALLENGE = { headers: { 'WWW-Authenticate': 'Bearer' } };

/** The response does not say why the data is invalid. */
export class InvalidInitData extends domainError('not-authenticated', 'initData is not valid', CHALLENGE) {}

/** The data was once valid, so its sender may safely learn the reason. */
export class InitDataTooOld extends domainError(
  'not-authenticated',
  'initData is too old: open the app again',
  CHALLENGE,
) {}

/** Telegram vouches for the person, but staff have created no account for them. */
export class NoAccount extends domainError('forbidden', 'This Telegram user has no account') {}
