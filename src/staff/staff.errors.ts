import { domainError } from '../common';

/** Only a colleague or the command line may change a staff member's money and prices. */
export class OwnAccount extends domainError(
  'forbidden',
  'Staff cannot do this for their own account: ask a colleague',
) {}

export class UserNotErasable extends domainError(
  'conflict',
  (open: readonly string[]) => `The user cannot be erased before these are closed: ${open.join(', ')}`,
) {}

export class RunningProxiesChanged extends domainError(
  'conflict',
  'running_proxies does not match the number of running proxies: see the dry run',
) {}
