import { domainError } from '../../common';

export class UnknownSource extends domainError('not-found', 'Not Found') {}

export class IntakeNotSigned extends domainError(
  'not-authenticated',
  'The request is not signed with the secret of the source, or not of the last five minutes',
) {}

export class ReferenceReused extends domainError(
  'conflict',
  'The reference was used for another payment. Staff decide this one',
) {}
