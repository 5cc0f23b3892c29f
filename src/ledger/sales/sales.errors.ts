import { domainError } from '../../common';

export const LONGEST_PERIOD_DAYS = 366;

export class InvalidSalesPeriod extends domainError(
  'bad-request',
  `The last day must not be before the first, and the period must not exceed ${LONGEST_PERIOD_DAYS} days`,
) {}

export class InvalidSalesCursor extends domainError(
  'bad-request',
  'This cursor belongs to a list with a different `by`: omit the cursor to start again',
) {}
