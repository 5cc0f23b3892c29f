import { setTimeout as pause } from 'node:timers/promises';

const DAY_MS = 86_400_000;
/** Longer than a test may take. */
const TEST_MS = 25_000;

/**
 * Begins no test of this block shortly before midnight (UTC): for tests of a day or a month, whose limits and
 * sums begin anew with the next one.
 */
export function withinOneDay(): void {
  beforeEach(async () => {
    for (let leftMs = leftToday(); leftMs < TEST_MS; leftMs = leftToday()) await pause(leftMs);
  }, 2 * TEST_MS);
}

const leftToday = (): number => DAY_MS - (Date.now() % DAY_MS);
