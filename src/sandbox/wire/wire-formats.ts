import type { Dialect } from '../dialect';

const MOSCOW_OFFSET_S = 3 * 3600;

/** Returns Moscow time without a zone, such as `2016-06-19 16:32:39`. */
export function moscowTime(unixS: number): string {
  return new Date((unixS + MOSCOW_OFFSET_S) * 1000).toISOString().slice(0, 19).replace('T', ' ');
}

export function roubles(kopecks: number): number {
  return kopecks / 100;
}

export function balanceText(kopecks: number): string {
  return roubles(kopecks).toFixed(2);
}

/** Returns the price of one proxy for one day, rounded as in PROXY6's documentation. */
export function priceSingle(kopecks: number, periodDays: number): number {
  return Number((roubles(kopecks) / periodDays).toFixed(4));
}

/** Fields that are usually strings, and that the dialect `numbers` sends as numbers. */
const NUMERIC_FIELDS = new Set(['user_id', 'balance', 'id', 'port', 'version', 'active']);

export function wireJson(response: Readonly<Record<string, unknown>>, { numbers }: Dialect): string {
  if (numbers === 'published') return JSON.stringify(response);
  return JSON.stringify(response, (name, value: unknown) => {
    if (numbers === 'strings') return typeof value === 'number' ? String(value) : value;
    return typeof value === 'string' && NUMERIC_FIELDS.has(name) ? Number(value) : value;
  });
}

/** PROXY6 sends an object keyed by id, but an array with `nokey` or for an empty list. */
export function wireList<T extends { id: string | number }>(
  items: readonly T[],
  withoutKeys: boolean,
): readonly T[] | Record<string, T> {
  return withoutKeys || items.length === 0 ? items : Object.fromEntries(items.map((item) => [item.id, item]));
}
