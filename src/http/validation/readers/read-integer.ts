import type { JsonValue } from '../../json/json-value';
import { InputMistake } from '../input-mistake';
import { hasLoneSurrogate, notUnicode } from './unicode';

/** Maximum length of an integer in a string, as in Python and Pydantic. */
const MAX_LENGTH = 4300;
const INTEGER = /^-?(?:0|[1-9][0-9]*)$/;
const LEADING_DIGITS = /^-?[1-9][0-9]*/;
const SPACE = /\p{White_Space}/u;
const LEADING_ZEROS = /^0[0_]*/;
const ZERO_FRACTION = /\.0+$/;
const SEPARATED = /^[^_]+(?:_[^_]+)+$/;

export interface IntegerBounds {
  readonly atLeast?: number;
  readonly greaterThan?: number;
  readonly atMost?: number;
}

/** Reads integers as leniently as Pydantic. Beyond the safe range, returns the nearest safe integer. */
export function readInteger(input: JsonValue, bounds: IntegerBounds): number | InputMistake {
  const value = toBigInt(input);
  if (value instanceof InputMistake) return value;
  const { atLeast, greaterThan, atMost } = bounds;
  if (atMost !== undefined && value > atMost) {
    const msg = `Input should be less than or equal to ${atMost}`;
    return new InputMistake('less_than_equal', msg, input, { le: atMost });
  }
  if (atLeast !== undefined && value < atLeast) {
    const msg = `Input should be greater than or equal to ${atLeast}`;
    return new InputMistake('greater_than_equal', msg, input, { ge: atLeast });
  }
  if (greaterThan !== undefined && value <= greaterThan) {
    return new InputMistake('greater_than', `Input should be greater than ${greaterThan}`, input, {
      gt: greaterThan,
    });
  }
  return toSafeNumber(value);
}

function toBigInt(input: JsonValue): bigint | InputMistake {
  if (typeof input === 'bigint') return input;
  if (typeof input === 'boolean') return input ? 1n : 0n;
  if (typeof input === 'number') return fromFloat(input);
  if (typeof input === 'string') return fromText(input);
  return new InputMistake('int_type', 'Input should be a valid integer', input);
}

function fromFloat(input: number): bigint | InputMistake {
  if (!Number.isFinite(input)) {
    return new InputMistake('finite_number', 'Input should be a finite number', input);
  }
  if (!Number.isInteger(input)) {
    const msg = 'Input should be a valid integer, got a number with a fractional part';
    return new InputMistake('int_from_float', msg, input);
  }
  return Math.abs(input) < 2 ** 63 ? BigInt(input) : tooLong(input);
}

function fromText(input: string): bigint | InputMistake {
  if (hasLoneSurrogate(input)) return notUnicode(input);
  if (INTEGER.test(input) && input.length <= MAX_LENGTH) return BigInt(input);
  if ((LEADING_DIGITS.exec(input)?.[0].length ?? 0) > MAX_LENGTH) return tooLong(input);
  const cleaned = cleanIntegerText(input);
  if (cleaned !== null && INTEGER.test(cleaned) && cleaned.length <= MAX_LENGTH) return BigInt(cleaned);
  const msg = 'Input should be a valid integer, unable to parse string as an integer';
  return new InputMistake('int_parsing', msg, input);
}

/** Removes the same characters as pydantic-core, in the same order. For example, `"0-5"` becomes -5. */
function cleanIntegerText(input: string): string | null {
  const trimmed = trim(input);
  const unplussed = trimmed.startsWith('+') ? trimmed.slice(1) : trimmed;
  if (trimmed.startsWith('+') && unplussed.startsWith('-')) return null;
  const negative = unplussed.startsWith('-');
  const unsigned = negative ? unplussed.slice(1) : unplussed;
  if (negative && /^[-+]/.test(unsigned)) return null;
  const significant = stripLeadingZeros(unsigned);
  if (significant === null) return null;
  const whole = significant.replace(ZERO_FRACTION, '');
  const digits = SEPARATED.test(whole) ? whole.replaceAll('_', '') : whole;
  return negative ? `-${digits}` : digits;
}

/** Trims Unicode white space. A regular expression would be slow on many spaces. */
function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && SPACE.test(text.charAt(start))) start++;
  while (end > start && SPACE.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

function stripLeadingZeros(text: string): string | null {
  const zeros = LEADING_ZEROS.exec(text)?.[0];
  if (zeros === undefined) return /^[1-9]/.test(text) ? text : null;
  const rest = text.slice(zeros.length);
  if (rest === '' || rest.startsWith('.')) return zeros.slice(-1) + rest;
  return /^[1-9-]/.test(rest) ? rest : null;
}

function toSafeNumber(value: bigint): number {
  if (value > Number.MAX_SAFE_INTEGER) return Number.MAX_SAFE_INTEGER;
  if (value < Number.MIN_SAFE_INTEGER) return Number.MIN_SAFE_INTEGER;
  return Number(value);
}

function tooLong(input: JsonValue): InputMistake {
  return new InputMistake(
    'int_parsing_size',
    'Unable to parse input string as an integer, exceeded maximum size',
    input,
  );
}
