import { domainError } from '../common';

/** Money and prices of a member of staff are changed by a colleague, or on the command line. */
export class OwnAccount extends domainError(
  'forbidden',
  'Staff cannot do this for themselves: ask a colleague',
) {}
