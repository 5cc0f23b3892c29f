/**
 * A JSON document as Python reads it: a whole number is a bigint, exact at any size, and one with a fraction
 * or an exponent is a number. Validation distinguishes the two.
 */
export type JsonValue = null | boolean | string | number | bigint | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: JsonValue;
}

export function isJsonObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The inverse of `parseJson`. `NaN` and `Infinity`, which JSON cannot express, become `null`. */
export function writeJson(value: JsonValue): string {
  if (typeof value === 'bigint') return value.toString();
  if (Object.is(value, -0)) return '-0.0';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (!isJsonObject(value)) return `[${value.map(writeJson).join(',')}]`;
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${writeJson(member)}`,
  );
  return `{${members.join(',')}}`;
}
