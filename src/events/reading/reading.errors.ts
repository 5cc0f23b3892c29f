import { domainError } from '../../common';
import { RequestInvalid } from '../../http';
import { CURSOR_PATTERN } from './cursor';

/** Events after the cursor have been removed, so that going on from it would skip them. */
export class EventsGone extends domainError(
  'gone',
  'Events after this cursor are no longer kept: read the present state of orders and proxies, and go on ' +
    'without `after` (from the oldest event that is kept) or with `after=now`',
) {}

/** A client that made up its `Last-Event-ID`. */
export class LastEventIdInvalid extends RequestInvalid {
  constructor(input: string) {
    super([
      {
        type: 'string_pattern_mismatch',
        loc: ['header', 'Last-Event-ID'],
        msg: `String should match pattern '${CURSOR_PATTERN}'`,
        input,
        ctx: { pattern: CURSOR_PATTERN },
      },
    ]);
  }
}
