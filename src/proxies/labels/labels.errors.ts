import { domainError } from '../../common';
import { MAX_TAGS } from '../filter/labels';

/** Refusal of the whole request, after which none of its proxies is changed. */
export class TooManyTags extends domainError(
  'bad-request',
  `A proxy has at most ${MAX_TAGS} tags; nothing was changed`,
) {}

/**
 * Refusal of a token with a daily limit. Renewal rules select proxies by labels and tags, and renewals by
 * rules do not count against a token's limit.
 */
export class LimitedTokenCannotMoveRules extends domainError(
  'forbidden',
  'A token with a daily limit cannot move a proxy to another renewal rule; nothing was changed',
) {}
