/**
 * When the outcome of an order is searched for: seconds after its deadline, for the ordinary quiet time.
 */
const OFFSETS_SECONDS = [0, 2, 5, 15, 30, 60, 120, 300, 600] as const;
const ORDINARY_QUIET_SECONDS = 600;

/** After this time an order moves to review. */
export const SEARCHES_END_AFTER_SECONDS = 24 * 3600;

/** The schedule of searches, scaled with the quiet time. The last offset is the quiet time. */
export function searchOffsetsSeconds(quietSeconds: number): number[] {
  return OFFSETS_SECONDS.map((offset) => (offset * quietSeconds) / ORDINARY_QUIET_SECONDS);
}

/** How far apart two searches that find nothing must be to count as two. */
export function spacingOfEmptySearchesSeconds(quietSeconds: number): number {
  return Math.min(60, quietSeconds / 10);
}
