import { domainError } from '../../common';
import { MAX_TAGS } from '../filter/labels';

/** Refuses the whole request. */
export class TooManyTags extends domainError(
  'bad-request',
  `A proxy can have at most ${MAX_TAGS} tags; nothing was changed`,
) {}

/**
 * Refuses a token with a daily limit. Labels and tags decide which renewal rule applies to a proxy, and
 * renewals by rules do not count towards the token's limit.
 */
export class LimitedTokenCannotMoveRules extends domainError(
  'forbidden',
  'A token with a daily limit cannot move a proxy to another renewal rule; nothing was changed',
) {}
