import { Money } from '../../../common';
import type { JsonValue } from '../../json/json-value';
import { InputMistake } from '../input-mistake';
import { hasLoneSurrogate, notUnicode } from './unicode';

/** Matches a decimal, including the exponent form in which JavaScript writes small numbers. */
const DECIMAL = /^(?:0|[1-9]\d{0,11})(?:\.\d+)?$|^\d(?:\.\d+)?e-\d+$/;

export function readAmount(input: JsonValue, orZero: boolean): Money | InputMistake {
  if (typeof input !== 'string' && typeof input !== 'number' && typeof input !== 'bigint') {
    const msg = 'Decimal input should be an integer, float, string or Decimal object';
    return new InputMistake('decimal_type', msg, input);
  }
  if (typeof input === 'string' && hasLoneSurrogate(input)) return notUnicode(input);
  const text = String(input);
  if (text.startsWith('-') && DECIMAL.test(text.slice(1))) return tooSmall(input, orZero);
  if (!DECIMAL.test(text)) {
    return new InputMistake('decimal_parsing', 'Input should be a valid decimal', input);
  }
  try {
    const amount = Money.parse(text);
    return orZero || amount.isPositive() ? amount : tooSmall(input, orZero);
  } catch {
    const msg = 'Decimal input should have no more than 2 decimal places';
    return new InputMistake('decimal_max_places', msg, input, { decimal_places: 2 });
  }
}

const tooSmall = (input: JsonValue, orZero: boolean): InputMistake =>
  orZero
    ? new InputMistake('greater_than_equal', 'Input should be greater than or equal to 0', input, { ge: 0 })
    : new InputMistake('greater_than', 'Input should be greater than 0', input, { gt: 0 });
