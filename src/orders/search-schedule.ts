/**
 * When the outcome of an order is searched for: seconds after its deadline, for the ordinary settlement
 * delay.
 */
const OFFSETS_SECONDS = [0, 2, 5, 15, 30, 60, 120, 300, 600] as const;
const ORDINARY_SETTLEMENT_DELAY_SECONDS = 600;

/** After this time an order moves to review. */
export const SEARCHES_END_AFTER_SECONDS = 24 * 3600;

/** The schedule of searches, scaled with the settlement delay. The last offset is the settlement delay. */
export function searchOffsetsSeconds(settlementDelaySeconds: number): number[] {
  return OFFSETS_SECONDS.map(
    (offset) => (offset * settlementDelaySeconds) / ORDINARY_SETTLEMENT_DELAY_SECONDS,
  );
}

/** How far apart two searches that find nothing must be to count as two. */
export function spacingOfEmptySearchesSeconds(settlementDelaySeconds: number): number {
  return Math.min(60, settlementDelaySeconds / 10);
}
