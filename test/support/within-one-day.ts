import { setTimeout as pause } from 'node:timers/promises';

const DAY_MS = 86_400_000;
const TEST_MS = 25_000;

/** Starts no test shortly before midnight (UTC), when daily and monthly limits and sums begin anew. */
export function withinOneDay(): void {
  beforeEach(async () => {
    for (let leftMs = leftToday(); leftMs < TEST_MS; leftMs = leftToday()) await pause(leftMs);
  }, 2 * TEST_MS);
}

const leftToday = (): number => DAY_MS - (Date.now() % DAY_MS);
