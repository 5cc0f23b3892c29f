import type { JsonValue } from '../../json/json-value';
import { InputMistake } from '../input-mistake';
import { hasLoneSurrogate, notUnicode } from './unicode';

export interface StringBounds {
  /** Minimum length in code points, like `maxLength`. */
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

export function readString(input: JsonValue, bounds: StringBounds): string | InputMistake {
  if (typeof input !== 'string') {
    return new InputMistake('string_type', 'Input should be a valid string', input);
  }
  const { minLength, maxLength, pattern } = bounds;
  // Like Pydantic, check for lone surrogates only if the field has a bound.
  const bounded = minLength !== undefined || maxLength !== undefined || pattern !== undefined;
  if (bounded && hasLoneSurrogate(input)) return notUnicode(input);
  const length = Array.from(input).length;
  if (minLength !== undefined && length < minLength) {
    const msg = `String should have at least ${characters(minLength)}`;
    return new InputMistake('string_too_short', msg, input, { min_length: minLength });
  }
  if (maxLength !== undefined && length > maxLength) {
    const msg = `String should have at most ${characters(maxLength)}`;
    return new InputMistake('string_too_long', msg, input, { max_length: maxLength });
  }
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(input)) {
    return new InputMistake('string_pattern_mismatch', `String should match pattern '${pattern}'`, input, {
      pattern,
    });
  }
  return input;
}

function characters(count: number): string {
  return count === 1 ? '1 character' : `${count} characters`;
}
