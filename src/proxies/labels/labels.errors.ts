import { domainError } from '../../common';
import { MAX_TAGS } from '../filter/labels';

/** Thrown for the whole request: none of its proxies was changed. */
export class TooManyTags extends domainError(
  'bad-request',
  `A proxy has at most ${MAX_TAGS} tags; nothing was changed`,
) {}

/** Rules select by labels and tags, and renewals by rules do not count against the limit of a token. */
export class LimitedTokenCannotMoveRules extends domainError(
  'forbidden',
  'A token with a daily limit cannot move a proxy to another renewal rule; nothing was changed',
) {}
