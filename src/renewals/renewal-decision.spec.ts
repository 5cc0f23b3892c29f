import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SeededRandom } from '../../test/support/seeded-random';
import { Money } from '../common';
import {
  type RenewalCandidate,
  decideRenewals,
  type RenewalDecision,
  renewalDueAt,
  lastTryAt,
  type RenewalFunds,
  monthOf,
  RENEWAL_OBSTACLES,
} from './renewal-decision';

const NOW = new Date('2026-11-21T12:00:00Z');
const HOUR_MS = 3_600_000;
const after = (hours: number): Date => new Date(NOW.getTime() + hours * HOUR_MS);

const candidate = (
  proxyId: number,
  price: string | null,
  more: Partial<RenewalCandidate> = {},
): RenewalCandidate => ({
  proxyId,
  dateEnd: after(24),
  maxPrice: null,
  price: price === null ? null : Money.parse(price),
  obstacle: null,
  ...more,
});

const funds = (available: string, more: Partial<RenewalFunds> = {}): RenewalFunds => ({
  now: NOW,
  available: Money.parse(available),
  budgetLeft: null,
  obstacle: null,
  ...more,
});

const outcomesOf = (decisions: readonly RenewalDecision[]): Record<number, string> =>
  Object.fromEntries(
    decisions.map((decision) => [
      decision.candidate.proxyId,
      decision.renew ? decision.price.toString() : decision.reason,
    ]),
  );

describe('A renewal that is due', () => {
  it.each<[string, RenewalFunds, Partial<RenewalCandidate>, string]>([
    ['is carried out while the balance covers it to the kopeck', funds('10.00'), {}, '10.00'],
    ['is skipped when a kopeck is missing', funds('9.99'), {}, 'balance-short'],
    ['is carried out at its guard', funds('10.00'), { maxPrice: Money.parse('10.00') }, '10.00'],
    ['is skipped above its guard', funds('10.00'), { maxPrice: Money.parse('9.99') }, 'price-above-max'],
    ['may use the budget up', funds('10.00', { budgetLeft: Money.parse('10.00') }), {}, '10.00'],
    ['does not exceed it', funds('10.00', { budgetLeft: Money.parse('9.99') }), {}, 'budget-used-up'],
    [
      'is skipped when a budget was lowered below what is spent',
      funds('10.00', { budgetLeft: Money.parse('-5.00') }),
      {},
      'budget-used-up',
    ],
    ['is skipped without a price', funds('10.00'), { price: null }, 'no-price'],
    ['is skipped while renewals are paused', funds('10.00', { obstacle: 'paused' }), {}, 'paused'],
    ['is skipped while another order is open', funds('10.00'), { obstacle: 'order-open' }, 'order-open'],
    ['is carried out an hour before the end', funds('10.00'), { dateEnd: after(1) }, '10.00'],
    [
      'is not carried out later than that',
      funds('10.00'),
      { dateEnd: new Date(after(1).getTime() - 1) },
      'too-late',
    ],
  ])('%s', (_, given, more, expected) => {
    expect(outcomesOf(decideRenewals(given, [candidate(1, '10.00', more)]))).toEqual({ 1: expected });
  });

  it('comes behind what ends earlier, and of what ends together, behind the lower id', () => {
    const [late, second, first] = [
      candidate(1, '6.00', { dateEnd: after(30) }),
      candidate(3, '6.00'),
      candidate(2, '6.00'),
    ];
    expect(outcomesOf(decideRenewals(funds('12.00'), [late, second, first]))).toEqual({
      2: '6.00',
      3: '6.00',
      1: 'balance-short',
    });
  });

  it('has its turn when a more expensive one before it was skipped', () => {
    const renewals = [candidate(1, '11.00'), candidate(2, '10.00')];
    expect(outcomesOf(decideRenewals(funds('10.00'), renewals))).toEqual({ 1: 'balance-short', 2: '10.00' });
  });

  it('comes due at the beginning of an hour', () => {
    expect(renewalDueAt(new Date('2026-11-21T12:34:56Z'), 24)).toEqual(new Date('2026-11-20T12:00:00Z'));
    expect(lastTryAt(new Date('2026-11-21T12:34:56Z'))).toEqual(new Date('2026-11-21T11:34:56Z'));
  });

  it('counts in a month of UTC', () => {
    expect(monthOf(new Date('2026-12-01T01:00:00+02:00'))).toEqual(new Date('2026-11-01T00:00:00Z'));
  });
});

describe('The guide', () => {
  it('reports every reason for which a proxy is not renewed', () => {
    const guide = readFileSync(join(__dirname, '../../docs/renewals.md'), 'utf8');
    const named = [...guide.matchAll(/^- `([a-z-]+)`: /gm)].map(([, reason]) => reason);
    expect(named).toEqual(expect.arrayContaining([...RENEWAL_OBSTACLES]));
  });
});

describe('Any set of due renewals', () => {
  const kopecks = (random: SeededRandom, most: number): Money =>
    Money.ofKopecks(BigInt(random.integer(0, most)));
  const maybe = <Value>(random: SeededRandom, value: Value): Value | null =>
    random.chance(0.2) ? null : value;

  function anyCase(random: SeededRandom): [RenewalFunds, RenewalCandidate[]] {
    const candidates = Array.from({ length: random.integer(0, 12) }, (_, n) =>
      candidate(n + 1, null, {
        dateEnd: after(random.integer(0, 5)),
        price: maybe(random, Money.ofKopecks(BigInt(random.integer(1, 900)))),
        maxPrice: random.chance(0.3) ? kopecks(random, 900) : null,
        obstacle: random.chance(0.1) ? 'proxy-withdrawn' : null,
      }),
    );
    return [
      {
        now: NOW,
        available: kopecks(random, 3000),
        budgetLeft: random.chance(0.5) ? kopecks(random, 3000) : null,
        obstacle: random.chance(0.05) ? 'paused' : null,
      },
      random.shuffle(candidates),
    ];
  }

  const SEEDS = Array.from({ length: 1000 }, (_, seed) => seed);
  const renewed = (decisions: readonly RenewalDecision[]) =>
    decisions.flatMap((one) => (one.renew ? [one] : []));
  const sumOf = (decisions: readonly RenewalDecision[]): bigint =>
    renewed(decisions).reduce((sum, { price }) => sum + price.kopecks, 0n);

  it.each<[string, (given: RenewalFunds, candidates: RenewalCandidate[], random: SeededRandom) => void]>([
    [
      'neither the balance nor the budget is exceeded',
      (given, candidates) => {
        const cost = sumOf(decideRenewals(given, candidates));
        expect(cost).toBeLessThanOrEqual(given.available.kopecks);
        expect(cost).toBeLessThanOrEqual(given.budgetLeft?.kopecks ?? cost);
      },
    ],
    [
      'none is renewed above its guard, without a price, too late or in spite of an obstacle',
      (given, candidates) => {
        const wrong = renewed(decideRenewals(given, candidates)).filter(
          ({ candidate: one, price }) =>
            price !== one.price ||
            price.kopecks > (one.maxPrice?.kopecks ?? price.kopecks) ||
            one.dateEnd < after(1) ||
            one.obstacle !== null ||
            given.obstacle !== null,
        );
        expect(wrong).toEqual([]);
      },
    ],
    [
      'the order in which they are given does not matter',
      (given, candidates, random) => {
        expect(decideRenewals(given, random.shuffle(candidates))).toEqual(decideRenewals(given, candidates));
      },
    ],
    [
      'what is decided of one depends on none that comes behind it',
      (given, candidates, random) => {
        const decisions = decideRenewals(given, candidates);
        const first = decisions.slice(0, random.integer(0, decisions.length));
        expect(
          decideRenewals(
            given,
            first.map((decision) => decision.candidate),
          ),
        ).toEqual(first);
      },
    ],
    [
      'what money does not suffice for is dearer than what is left at its turn',
      (given, candidates) => {
        const decisions = decideRenewals(given, candidates);
        for (const [n, decision] of decisions.entries()) {
          if (decision.renew || decision.reason !== 'balance-short') continue;
          const left = given.available.kopecks - sumOf(decisions.slice(0, n));
          expect(decision.candidate.price?.kopecks).toBeGreaterThan(left);
        }
      },
    ],
  ])('%s', (_, holds) => {
    for (const seed of SEEDS) {
      const random = new SeededRandom(seed);
      const [given, candidates] = anyCase(random);
      holds(given, candidates, random);
    }
  });
});
