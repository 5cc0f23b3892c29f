import type { JsonValue } from '../json/json-value';
import { Refusal } from './refusal';

/** Reads a day that there is in the calendar, as it is written. */
export function readDate(input: JsonValue): string | Refusal {
  if (typeof input !== 'string') return new Refusal('date_type', 'Input should be a valid date', input);
  // JavaScript takes the 30th of February for the 2nd of March.
  const isDay = /^\d{4}-\d\d-\d\d$/.test(input) && new Date(`${input}T00:00:00Z`).toJSON()?.startsWith(input);
  if (isDay && !input.startsWith('0000')) return input;
  const error = 'expected a day, e.g. 2026-11-21';
  return new Refusal('date_from_datetime_parsing', `Input should be a valid date, ${error}`, input, {
    error,
  });
}
