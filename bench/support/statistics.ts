const SECOND_MS = 1000;

/** Nearest-rank percentile: a value that occurred. NaN without values. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  // Rounded, so that 99.9 % of 1,000 is the 999th despite floating point.
  const rank = Math.ceil(Number(((percent * sorted.length) / 100).toFixed(6)));
  return sorted[Math.max(rank, 1) - 1] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The largest number of times within any second, wherever it begins. */
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

/** Median and range over rounds. NaN without values. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: percentile(values, 0), max: percentile(values, 100) };
}

/** Ratios within each round, so that drift of the machine favours no subject. */
export function ratioSpread(values: readonly number[], others: readonly number[]): Spread {
  const rounds = Math.min(values.length, others.length);
  return spread(
    Array.from(
      { length: rounds },
      (_, round) => (values[round] ?? Number.NaN) / (others[round] ?? Number.NaN),
    ),
  );
}

/** Slope of the least-squares line. NaN for fewer than two points. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const below = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return above / below;
}
