import { randomInt } from 'node:crypto';
import { fuzz } from './support/fuzz';

/** FUZZ_SEED repeats a run. */
const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));

/** Operations that the installation of the test has no state for. */
const NOT_REACHED = [
  'GET /proxies/{proxy_id}/check',
  'POST /staff/found-prolongations/{prolongation_id}/charge',
  'POST /staff/found-prolongations/{prolongation_id}/write-off',
  'POST /staff/missing-proxies/withdraw',
  'POST /staff/orders/{order_id}/decide',
  'POST /staff/recovery/end',
];

it(`Hostile requests return what is described, never with 5xx (FUZZ_SEED=${SEED})`, async () => {
  const { notReached, violations } = await fuzz({ seed: SEED, random: 250, systematic: false });
  expect(violations).toEqual([]);
  expect(notReached.toSorted()).toEqual(NOT_REACHED);
}, 180_000);
