import { domainError } from '../common';

export class UserExists extends domainError(
  'conflict',
  (field: 'tg_id' | 'web_username') => `A user with this ${field} already exists`,
) {}

export class UserNotFound extends domainError('not-found', 'User not found') {}
