import { domainError } from '../../common';

/** Events after the cursor have been deleted, so continuing from it would skip them. */
export class EventsGone extends domainError(
  'gone',
  'Events after this cursor were removed: read the current state of orders and proxies, and continue ' +
    'without `after` (from the oldest event) or with `after=now`',
) {}
