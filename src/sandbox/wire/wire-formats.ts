const MOSCOW_OFFSET_S = 3 * 3600;

/** `2016-06-19 16:32:39`: Moscow time without a zone. */
export function moscowTime(unixS: number): string {
  return new Date((unixS + MOSCOW_OFFSET_S) * 1000).toISOString().slice(0, 19).replace('T', ' ');
}

/** Amounts are numbers in roubles; only the balance is a string with two decimals. */
export function roubles(kopecks: number): number {
  return kopecks / 100;
}

export function balanceText(kopecks: number): string {
  return roubles(kopecks).toFixed(2);
}

/** A list as the provider sends it: an object keyed by id, an array with `nokey`, and `[]` when empty. */
export function wireList<T extends { id: string | number }>(
  items: readonly T[],
  withoutKeys: boolean,
): readonly T[] | Record<string, T> {
  return withoutKeys || items.length === 0 ? items : Object.fromEntries(items.map((item) => [item.id, item]));
}
