import { domainError } from '../../common';

export class EventsGone extends domainError(
  'gone',
  'Events after this cursor were removed: read the current state of orders and proxies, and continue ' +
    'without `after` (from the oldest event) or with `after=now`',
) {}
