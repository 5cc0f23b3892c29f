import { domainError } from '../../common';

export class UnknownSource extends domainError('not-found', 'Not Found') {}

export class IntakeNotSigned extends domainError(
  'not-authenticated',
  "The signature does not match the source's secret, or is older than five minutes",
) {}

export class ReferenceReused extends domainError(
  'conflict',
  'The reference was already used for another payment. Staff will decide what to do with this payment',
) {}
