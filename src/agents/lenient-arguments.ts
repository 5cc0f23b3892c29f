import type { Type } from '@nestjs/common';
import { jsonOrUndefined } from '../common';
import { declaredFields, isJsonObject, type JsonValue } from '../http';

/** Models may send the values of these string fields as numbers. */
const IDENTIFIER = /^version$|_ids?$/;
const INTEGER = /^-?\d{1,20}$/;

/**
 * Converts the values in `given` to their declared types. Models may send numbers, booleans and lists as
 * strings, and null for omitted values.
 */
export function readLeniently(input: Type<object>, given: JsonValue): void {
  if (!isJsonObject(given)) return;
  const values = given as Record<string, JsonValue>;
  for (const [name, { schema }] of declaredFields(input.prototype as object)) {
    if (!Object.hasOwn(values, name)) continue;
    const value = values[name] ?? null;
    if (value === null) delete values[name];
    else values[name] = convert(value, name, schema['type']);
  }
}

function convert(value: JsonValue, name: string, type: unknown): JsonValue {
  if (type === 'integer' && typeof value === 'string' && INTEGER.test(value)) return BigInt(value);
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  if (type === 'string' && IDENTIFIER.test(name)) return textOf(value);
  if (type !== 'array') return value;
  const list = typeof value === 'string' ? (jsonOrUndefined(value) as JsonValue | undefined) : value;
  if (!Array.isArray(list)) return value;
  return IDENTIFIER.test(name) ? list.map(textOf) : list;
}

const textOf = (value: JsonValue): JsonValue =>
  (typeof value === 'bigint' || typeof value === 'number') && Number.isSafeInteger(Number(value))
    ? String(value)
    : value;
