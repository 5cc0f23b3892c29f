const SECOND_MS = 1000;

/** By nearest rank: a value that occurred. NaN when there is none. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(Math.ceil((percent / 100) * sorted.length), 1) - 1] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** In the fullest second, wherever it begins. */
export function mostInAnySecond(timesMs: readonly number[]): number {
  const sorted = [...timesMs].sort((a, b) => a - b);
  let most = 0;
  let first = 0;
  for (const [at, timeMs] of sorted.entries()) {
    while (timeMs - (sorted[first] ?? timeMs) >= SECOND_MS) first += 1;
    most = Math.max(most, at - first + 1);
  }
  return most;
}

export function tally(values: readonly (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}
