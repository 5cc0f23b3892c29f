import { domainError } from '../common';

export class InsufficientBalance extends domainError('bad-request', 'Insufficient balance') {}

export class InvalidAmount extends domainError(
  'bad-request',
  'The amount must be above 0, at most 100000000.00, with at most two decimals',
) {}

/** The constraint that refuses an entry for which the balance does not suffice: for `refusedBy`. */
export const OVERDRAFT = { accounts_available_check: InsufficientBalance };
