import { domainError } from '../../common';

export const LONGEST_PERIOD_DAYS = 366;

export class InvalidSalesPeriod extends domainError(
  'bad-request',
  `The period must end after it begins, and have ${LONGEST_PERIOD_DAYS} days at most`,
) {}

export class InvalidSalesCursor extends domainError(
  'bad-request',
  'This cursor is from a list with another `by`: omit it to start again',
) {}
