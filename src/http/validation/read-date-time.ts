import type { JsonValue } from '../json/json-value';
import { Refusal } from './refusal';

const DATE_TIME = /^(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?$/;

/** Reads a moment with its offset from UTC, ISO 8601. Without one nobody knows which moment is meant. */
export function readDateTime(input: JsonValue): Date | Refusal {
  if (typeof input !== 'string') {
    return new Refusal('datetime_type', 'Input should be a valid datetime', input);
  }
  // The `+` of an offset in a query that was not escaped.
  const text = input.replace(/ (?=\d\d:\d\d$)/, (blank, place: number) => (place > 10 ? '+' : blank));
  const [, day = '', offset] = DATE_TIME.exec(text) ?? [];
  const moment = new Date(text.replace(' ', 'T'));
  // JavaScript takes the 30th of February for the 2nd of March.
  const isDay = new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day);
  if (day === '' || !isDay || Number.isNaN(moment.getTime()) || moment.getUTCFullYear() < 1) {
    const error = 'expected ISO 8601 with an offset, e.g. 2026-11-21T12:00:00Z';
    return new Refusal('datetime_parsing', `Input should be a valid datetime, ${error}`, input, { error });
  }
  if (offset === undefined) return new Refusal('timezone_aware', 'Input should have timezone info', input);
  return moment;
}
