import { domainError } from '../../common';

/** Thrown when events after the cursor were removed, so that continuing from it would skip them. */
export class EventsGone extends domainError(
  'gone',
  'Events after this cursor were removed: read the current state of orders and proxies, and continue ' +
    'without `after` (from the oldest event) or with `after=now`',
) {}
