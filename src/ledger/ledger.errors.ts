import { domainError, Money } from '../common';
import { OUT_OF_RANGE } from '../database';

/** Maximum amount of one credit or debit by staff. */
export const LARGEST_AMOUNT = Money.parse('100000000');

export class InsufficientBalance extends domainError('bad-request', 'Insufficient balance') {}

export class InvalidAmount extends domainError(
  'bad-request',
  `The amount must be greater than 0 and at most ${LARGEST_AMOUNT.toString()}, with at most two ` +
    'decimal places',
) {}

export class BalanceTooLarge extends domainError('conflict', 'The balance would exceed the maximum') {}

export const OVERFLOW = { [OUT_OF_RANGE]: BalanceTooLarge, accounts_total_check: BalanceTooLarge };

export const OVERDRAFT = { accounts_available_check: InsufficientBalance };
