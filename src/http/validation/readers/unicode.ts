import { InputMistake } from '../input-mistake';

const LONE_SURROGATE = /\p{Surrogate}/u;

/** JSON escapes can produce half of a surrogate pair. */
export function hasLoneSurrogate(text: string): boolean {
  return LONE_SURROGATE.test(text);
}

export function notUnicode(input: string): InputMistake {
  const msg = 'Input should be a valid string, unable to parse raw data as a unicode string';
  return new InputMistake('string_unicode', msg, input);
}
