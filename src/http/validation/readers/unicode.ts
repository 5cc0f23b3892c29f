import { Refusal } from '../refusal';

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Whether the text contains half of a surrogate pair, which JSON can escape. */
export function hasLoneSurrogate(text: string): boolean {
  return LONE_SURROGATE.test(text);
}

export function notUnicode(input: string): Refusal {
  const msg = 'Input should be a valid string, unable to parse raw data as a unicode string';
  return new Refusal('string_unicode', msg, input);
}
