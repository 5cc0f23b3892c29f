import { domainError } from '../common';

/**
 * Thrown because only a colleague or the command line may change the money and prices of a member of staff.
 */
export class OwnAccount extends domainError(
  'forbidden',
  'Staff cannot do this for themselves: ask a colleague',
) {}
