import type { JsonValue } from '../../json/json-value';
import { InputMistake } from '../input-mistake';
import { hasLoneSurrogate, notUnicode } from './unicode';

const TRUE_WORDS: readonly JsonValue[] = ['1', 't', 'y', 'on', 'yes', 'true', 1n, 1];
const FALSE_WORDS: readonly JsonValue[] = ['0', 'f', 'n', 'no', 'off', 'false', 0n, 0];

/** Accepts the same spellings as Pydantic. Ignores case, but does not trim white space. */
export function readBoolean(input: JsonValue): boolean | InputMistake {
  if (typeof input === 'boolean') return input;
  if (typeof input === 'string' && hasLoneSurrogate(input)) return notUnicode(input);
  const word = typeof input === 'string' ? input.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : input;
  if (TRUE_WORDS.includes(word)) return true;
  if (FALSE_WORDS.includes(word)) return false;
  if (typeof input === 'string' || isInt64(input)) {
    return new InputMistake(
      'bool_parsing',
      'Input should be a valid boolean, unable to interpret input',
      input,
    );
  }
  return new InputMistake('bool_type', 'Input should be a valid boolean', input);
}

function isInt64(input: JsonValue): boolean {
  if (typeof input === 'bigint') return input === BigInt.asIntN(64, input);
  return typeof input === 'number' && Number.isInteger(input) && isInt64(BigInt(input));
}
