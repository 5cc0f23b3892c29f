import { isJsonObject, type JsonValue } from '../json/json-value';
import type { ValidationItem } from './input-mistake';

const MOST_ITEMS = 20;
/** Maximum size of a mistake's `input`. Each character and each non-string value counts as one. */
const MOST_OF_INPUT = 1000;

/**
 * Returns the first few mistakes, without long inputs, and an item with the number of omitted mistakes.
 * @param count total number of mistakes
 */
export function boundedMistakes(mistakes: Iterable<ValidationItem>, count: number): ValidationItem[] {
  const items: ValidationItem[] = [];
  for (const { input, ...item } of mistakes) {
    if (items.length === MOST_ITEMS) {
      const more = count - MOST_ITEMS;
      const msg = `${more} more errors are omitted`;
      return [...items, { type: 'too_many_errors', loc: item.loc.slice(0, 1), msg, ctx: { more } }];
    }
    items.push(input !== undefined && isShort(input) ? { ...item, input } : item);
  }
  return items;
}

function isShort(input: JsonValue): boolean {
  let left = MOST_OF_INPUT;
  const take = (value: JsonValue): boolean => {
    left -= typeof value === 'string' || Array.isArray(value) ? value.length : 1;
    if (left < 0) return false;
    if (Array.isArray(value)) return value.every(take);
    if (!isJsonObject(value)) return true;
    for (const name in value) if (!take(name) || !take(value[name] as JsonValue)) return false;
    return true;
  };
  return take(input);
}
