import type { JsonValue } from '../../json/json-value';
import { InputMistake } from '../input-mistake';

export function readDate(input: JsonValue): string | InputMistake {
  if (typeof input !== 'string') return new InputMistake('date_type', 'Input should be a valid date', input);
  if (isDay(input)) return input;
  const error = 'expected a day, e.g. 2026-11-21';
  return new InputMistake('date_from_datetime_parsing', `Input should be a valid date, ${error}`, input, {
    error,
  });
}

const DATE_TIME = /^(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?$/;

/** Reads a date-time or a UTC day. At the end of a period, a day means the start of the next day. */
export function readBound(
  side: 'start' | 'end',
  input: JsonValue,
  anySpelling: boolean,
): Date | InputMistake {
  if (typeof input !== 'string' || !isDay(input)) {
    return readDateTime(input, anySpelling, 'a day, e.g. 2026-11-21, or ');
  }
  const day = new Date(`${input}T00:00:00Z`);
  if (side === 'end') day.setUTCDate(day.getUTCDate() + 1);
  return day;
}

/**
 * @param anySpelling whether to also accept offsets such as `+0000` and `z`
 * @param alternative another accepted form, to mention in the error message
 */
export function readDateTime(input: JsonValue, anySpelling = false, alternative = ''): Date | InputMistake {
  if (typeof input !== 'string') {
    return new InputMistake('datetime_type', 'Input should be a valid datetime', input);
  }
  const spelled = anySpelling
    ? input.replace(/(?<=:\d\d(?:\.\d+)?[+ -]\d\d)(?=\d\d$)/, ':').replace(/z$/, 'Z')
    : input;
  // A `+` that was not escaped in a query arrives as a space.
  const text = spelled.replace(/ (?=\d\d:\d\d$)/, (blank, place: number) => (place > 10 ? '+' : blank));
  const [, day = '', offset] = DATE_TIME.exec(text) ?? [];
  const moment = new Date(text.replace(' ', 'T'));
  const year = moment.getUTCFullYear();
  // The offset may have changed the year.
  if (!isDay(day) || !(year >= 1 && year <= 9999)) {
    const error = `expected ${alternative}ISO 8601 with an offset, e.g. 2026-11-21T12:00:00Z`;
    return new InputMistake('datetime_parsing', `Input should be a valid datetime, ${error}`, input, {
      error,
    });
  }
  if (offset === undefined) {
    return new InputMistake('timezone_aware', 'Input should have timezone info', input);
  }
  return moment;
}

/** Rejects February 30, which JavaScript would read as March 2. */
function isDay(text: string): boolean {
  return /^(?!0000)\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text);
}
