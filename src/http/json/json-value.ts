/** A JSON value as Python reads it: integers become bigints, and other numbers become numbers. */
export type JsonValue = null | boolean | string | number | bigint | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: JsonValue;
}

export function isJsonObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Matches strings that need no escapes in JSON. */
const PLAIN = /^[\w .:/-]*$/;

/** Writes a value as JSON, the inverse of `parseJson`, except that `NaN` and `Infinity` become `null`. */
export function writeJson(value: JsonValue): string {
  if (typeof value === 'string') return writeText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number') return writeFloat(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  let members = '';
  if (!isJsonObject(value)) {
    for (const member of value) members += `${members && ','}${writeJson(member)}`;
    return `[${members}]`;
  }
  for (const name of Object.keys(value)) {
    members += `${members && ','}${writeText(name)}:${writeJson(value[name] as JsonValue)}`;
  }
  return `{${members}}`;
}

const writeText = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

/** Smallest number that Python writes with a positive exponent. */
const LEAST_EXPONENTIAL = 1e16;

function writeFloat(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  if (Object.is(value, -0)) return '-0.0';
  return Math.abs(value) < LEAST_EXPONENTIAL ? String(value) : value.toExponential();
}
