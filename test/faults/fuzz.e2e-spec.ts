import { randomInt } from 'node:crypto';
import { fuzz } from '../support/fuzz';
import { inLongForm } from '../support/long-form';

const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));

/** The installation of the test has no state for these operations. */
const NOT_REACHED = [
  'GET /proxies/{proxy_id}/check',
  'POST /staff/found-prolongations/{prolongation_id}/charge',
  'POST /staff/found-prolongations/{prolongation_id}/write-off',
  'POST /staff/maintenance/end',
  'POST /staff/missing-proxies/withdraw',
  'POST /staff/orders/{order_id}/decide',
  'POST /staff/users/{user_id}/erase',
];

it(`Thousands of hostile requests return what the descriptions say (FUZZ_SEED=${SEED})`, async () => {
  const { requests, notReached, violations } = await fuzz({ seed: SEED, random: inLongForm(5000, 250) });
  expect(requests).toBeGreaterThan(5000);
  expect(violations).toEqual([]);
  expect(notReached.toSorted()).toEqual(NOT_REACHED);
}, 900_000);
