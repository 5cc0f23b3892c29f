import { domainError } from '../../common';

export const LONGEST_PERIOD_DAYS = 366;

export class InvalidSalesPeriod extends domainError(
  'bad-request',
  `The last day must not come before the first, and the period has at most ${LONGEST_PERIOD_DAYS} days`,
) {}

export class InvalidSalesCursor extends domainError(
  'bad-request',
  'This cursor is from a list with another `by`: omit it to start again',
) {}
