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
