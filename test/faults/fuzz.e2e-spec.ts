import { randomInt } from 'node:crypto';
import { fuzz } from '../support/fuzz';
import { inLongForm } from '../support/long-form';

/** FUZZ_SEED repeats a run. */
const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));

it(`Thousands of hostile requests return what the descriptions say (FUZZ_SEED=${SEED})`, async () => {
  const { requests, violations } = await fuzz({
    seed: SEED,
    random: inLongForm(5000, 750),
    systematic: true,
  });
  expect(requests).toBeGreaterThan(5000);
  expect(violations).toEqual([]);
}, 900_000);
