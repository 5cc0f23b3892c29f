import { domainError } from '../../common';
import { MAX_TAGS } from '../filter/labels';

export class TooManyTags extends domainError(
  'bad-request',
  `A proxy can have at most ${MAX_TAGS} tags; nothing was changed`,
) {}

/**
 * A proxy's label and tags select its renewal rule. Because renewals do not count towards a token's daily
 * limit, a token with such a limit must not select another rule.
 */
export class LimitedTokenCannotMoveRules extends domainError(
  'forbidden',
  'A token with a daily limit cannot move a proxy to another renewal rule; nothing was changed',
) {}
