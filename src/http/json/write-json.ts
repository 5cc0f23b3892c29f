import { isJsonObject, type JsonValue } from './json-value';

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
