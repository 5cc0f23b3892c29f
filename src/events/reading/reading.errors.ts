import { domainError } from '../../common';

/** Events after the cursor were removed, so that continuing from it would skip them. */
export class EventsGone extends domainError(
  'gone',
  'Events after this cursor are no longer kept: read the present state of orders and proxies, and go on ' +
    'without `after` (from the oldest event that is kept) or with `after=now`',
) {}
