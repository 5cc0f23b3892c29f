import { domainError } from '../common';

export class InsufficientBalance extends domainError('bad-request', 'Insufficient balance') {}

export class InvalidAmount extends domainError(
  'bad-request',
  'The amount must be above 0, at most 100000000.00, with at most two decimals',
) {}
