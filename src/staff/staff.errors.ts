import { domainError } from '../common';

/** What concerns money or prices of a member of staff is done by another one, or on the command line. */
export class OwnAccount extends domainError(
  'forbidden',
  'Staff cannot do this for themselves: ask a colleague',
) {}
