/** When an order whose outcome is unknown is looked for, in seconds after its deadline, for the ordinary quiet time. */
const OFFSETS_SECONDS = [0, 2, 5, 15, 30, 60, 120, 300, 600] as const;
const ORDINARY_QUIET_SECONDS = 600;

/** After this an order goes to staff. */
export const LOOKS_END_AFTER_SECONDS = 24 * 3600;

/** The schedule of looks, stretched or shrunk with the quiet time. The last is the quiet time itself. */
export function lookOffsetsSeconds(quietSeconds: number): number[] {
  return OFFSETS_SECONDS.map((offset) => (offset * quietSeconds) / ORDINARY_QUIET_SECONDS);
}

/** How far apart two looks that show nothing must be, to count as two. */
export function spacingOfEmptyLooksSeconds(quietSeconds: number): number {
  return Math.min(60, quietSeconds / 10);
}
