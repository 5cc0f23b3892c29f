import { domainError } from '../../common';
import { MAX_TAGS } from '../filter/labels';

/** Thrown for the whole request: no proxy of it was changed. */
export class TooManyTags extends domainError(
  'bad-request',
  `A proxy has at most ${MAX_TAGS} tags; nothing was changed`,
) {}
