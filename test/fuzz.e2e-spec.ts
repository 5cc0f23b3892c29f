import { randomInt } from 'node:crypto';
import { fuzz } from './support/fuzz';

/** FUZZ_SEED repeats a run. */
const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));

it(`Hostile requests are answered as described, never with 5xx (FUZZ_SEED=${SEED})`, async () => {
  const { requests, statuses, violations } = await fuzz({ seed: SEED, random: 400 });
  process.stdout.write(`FUZZ_SEED=${SEED}: ${requests} requests, ${JSON.stringify(statuses)}\n`);
  expect(violations).toEqual([]);
  // Valid requests were among them.
  expect(statuses).toMatchObject({ 200: expect.any(Number), 201: expect.any(Number) });
}, 180_000);
