import { domainError, Money } from '../common';
import { OUT_OF_RANGE } from '../database';

/** The most that one action of staff credits or debits. */
export const LARGEST_AMOUNT = Money.parse('100000000');

export class InsufficientBalance extends domainError('bad-request', 'Insufficient balance') {}

export class InvalidAmount extends domainError(
  'bad-request',
  `The amount must be above 0, at most ${LARGEST_AMOUNT.toString()}, with at most two decimals`,
) {}

export class BalanceTooLarge extends domainError(
  'conflict',
  'No balance can be as large as this one would be',
) {}

/** For `refusedBy`: a balance, with what is held of it, has a largest value. */
export const OVERFLOW = { [OUT_OF_RANGE]: BalanceTooLarge, accounts_total_check: BalanceTooLarge };

/** The constraint that refuses an entry for which the balance does not suffice: for `refusedBy`. */
export const OVERDRAFT = { accounts_available_check: InsufficientBalance };
