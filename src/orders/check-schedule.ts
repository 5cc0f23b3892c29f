/**
 * When an order with an unknown outcome is checked: seconds after its deadline, for the ordinary quiet time.
 */
const OFFSETS_SECONDS = [0, 2, 5, 15, 30, 60, 120, 300, 600] as const;
const ORDINARY_QUIET_SECONDS = 600;

/** After this time an order moves to review. */
export const CHECKS_END_AFTER_SECONDS = 24 * 3600;

/** The schedule of checks, scaled with the quiet time. The last offset is the quiet time. */
export function checkOffsetsSeconds(quietSeconds: number): number[] {
  return OFFSETS_SECONDS.map((offset) => (offset * quietSeconds) / ORDINARY_QUIET_SECONDS);
}

/** How far apart two checks that find nothing must be to count as two. */
export function spacingOfEmptyChecksSeconds(quietSeconds: number): number {
  return Math.min(60, quietSeconds / 10);
}
