import { SeededRandom } from '../../test/support/seeded-random';
import { Money } from '../common';
import { BALANCE_DAYS, firstUnpaidDay, type ForecastFunds, type Rental, runForecast } from './forecast';
import {
  decideRenewals,
  type RenewalDecision,
  renewalDueAt,
  hourOf,
  lastTryAt,
  monthOf,
} from './renewal-decision';

const HOUR_MS = 3_600_000;
const NOW = new Date('2026-11-21T12:30:00Z');

const rental = (proxyId: number, dateEnd: string, more: Partial<Rental> = {}): Rental => ({
  proxyId,
  dateEnd: new Date(dateEnd),
  ruleId: 1,
  period: 30,
  hoursBefore: 24,
  maxPrice: null,
  price: Money.parse('10.00'),
  obstacle: null,
  ...more,
});

const funds = (available: string, more: Partial<ForecastFunds> = {}): ForecastFunds => ({
  now: NOW,
  available: Money.parse(available),
  budget: null,
  obstacle: null,
  ...more,
});

async function forecast(given: ForecastFunds, rentals: readonly Rental[], days = 90): Promise<string[]> {
  const lines: string[] = [];
  await runForecast(given, rentals, days, ({ at, decisions, available }) => {
    for (const decision of decisions) {
      const what = decision.renew ? 'renewed' : decision.reason;
      lines.push(`${at.toISOString().slice(0, 16)} ${decision.candidate.proxyId} ${what}`);
    }
    if (decisions.length > 0) lines.push(`${available.toString()} left`);
  });
  return lines;
}

describe('The forecast', () => {
  it('renews a rental again and again, each time a day before it ends', async () => {
    expect(await forecast(funds('100.00'), [rental(1, '2026-11-25T10:20:30Z')])).toEqual([
      '2026-11-24T10:00 1 renewed',
      '90.00 left',
      '2026-12-24T10:00 1 renewed',
      '80.00 left',
      '2027-01-23T10:00 1 renewed',
      '70.00 left',
    ]);
  });

  it('decides at once what is due already', async () => {
    expect(await forecast(funds('10.00'), [rental(1, '2026-11-22T10:00:00Z')], 7)).toEqual([
      '2026-11-21T12:30 1 renewed',
      '0.00 left',
    ]);
  });

  it('gives short money to what is due first, and reports each rental that will end once', async () => {
    const rentals = [
      rental(1, '2026-11-30T10:00:00Z'),
      rental(2, '2026-11-25T10:00:00Z'),
      rental(3, '2026-11-24T10:00:00Z', { price: Money.parse('25.00') }),
    ];
    expect(await forecast(funds('20.00'), rentals)).toEqual([
      '2026-11-23T10:00 3 balance-short',
      '20.00 left',
      '2026-11-24T10:00 2 renewed',
      '10.00 left',
      '2026-11-29T10:00 1 renewed',
      '0.00 left',
      '2026-12-24T10:00 2 balance-short',
      '0.00 left',
      '2026-12-29T10:00 1 balance-short',
      '0.00 left',
    ]);
  });

  it('begins a new budget with each month, for what still waits as well', async () => {
    const budget = { monthly: Money.parse('10.00'), left: Money.zero };
    const rentals = [
      rental(1, '2026-11-24T10:00:00Z'),
      rental(2, '2026-12-01T10:00:00Z'),
      rental(3, '2026-12-02T00:30:00Z'),
    ];
    expect(await forecast(funds('100.00', { budget }), rentals, 20)).toEqual([
      '2026-11-23T10:00 1 budget-used-up',
      '100.00 left',
      '2026-12-01T00:00 2 renewed',
      '2026-12-01T00:00 3 budget-used-up',
      '90.00 left',
    ]);
  });

  it('reports what the budget does not cover before the forecast ends', async () => {
    const budget = { monthly: Money.parse('10.00'), left: Money.zero };
    const given = funds('100.00', { now: new Date('2026-11-28T12:30:00Z'), budget });
    const rentals = [rental(1, '2026-12-01T12:00:00Z', { hoursBefore: 72 })];
    expect(await forecast(given, rentals, 2)).toEqual(['2026-11-28T12:30 1 budget-used-up', '100.00 left']);
    expect(await forecast(given, rentals, 3)).toEqual(['2026-12-01T00:00 1 renewed', '90.00 left']);
  });

  it('reports everything that staff have paused', async () => {
    const rentals = [rental(1, '2026-11-24T10:00:00Z')];
    expect(await forecast(funds('100.00', { obstacle: 'paused' }), rentals)).toEqual([
      '2026-11-23T10:00 1 paused',
      '100.00 left',
    ]);
  });

  it('reports what ends too soon to be renewed', async () => {
    expect(await forecast(funds('100.00'), [rental(1, '2026-11-21T13:00:00Z')])).toEqual([
      '2026-11-21T12:30 1 too-late',
      '100.00 left',
    ]);
  });

  it('decides very many in slices, as all at once, and lets others have their turn in between', async () => {
    // Enough rentals to yield to other work on any machine.
    const rentals = Array.from({ length: 20_000 }, (_, n) => rental(20_000 - n, '2026-11-25T10:20:30Z'));
    const renewed: number[] = [];
    let turns = 0;
    let isDone = false;
    const takeTurns = (): void => {
      turns += 1;
      if (!isDone) setImmediate(takeTurns);
    };
    takeTurns();
    await runForecast(funds('15000.00'), rentals, 5, ({ decisions }) => {
      for (const { candidate, renew } of decisions) if (renew) renewed.push(candidate.proxyId);
    });
    isDone = true;
    expect(renewed).toEqual(Array.from({ length: 1500 }, (_, n) => n + 1));
    // One turn precedes the forecast.
    expect(turns).toBeGreaterThan(1);
  });

  function oneByOne(
    { now, obstacle, available, budget }: ForecastFunds,
    rentals: readonly Rental[],
    days: number,
  ) {
    const lines: string[] = [];
    const end = now.getTime() + days * 24 * HOUR_MS;
    let left = { available, budgetLeft: budget?.left ?? null };
    let month = monthOf(now).getTime();
    let waiting = rentals.map((one) => ({ one, from: 0 }));
    for (let at = now; at.getTime() <= end; at = new Date(hourOf(at).getTime() + HOUR_MS)) {
      if (monthOf(at).getTime() !== month) left = { ...left, budgetLeft: budget?.monthly ?? null };
      month = monthOf(at).getTime();
      const isDue = ({ one, from }: (typeof waiting)[number]) =>
        renewalDueAt(one.dateEnd, one.hoursBefore) <= at && from <= at.getTime();
      const due = waiting.filter(isDue).map(({ one }) => one);
      waiting = waiting.filter((entry) => !isDue(entry));
      const decisions = decideRenewals({ now: at, obstacle, ...left }, due);
      for (const decision of decisions) {
        const { candidate: one } = decision;
        if (decision.renew) {
          const { price } = decision;
          left = {
            available: left.available.minus(price),
            budgetLeft: left.budgetLeft && left.budgetLeft.minus(price),
          };
          const dateEnd = new Date(one.dateEnd.getTime() + one.period * 24 * HOUR_MS);
          waiting.push({ one: { ...one, dateEnd }, from: at.getTime() + 1 });
        } else if (decision.reason === 'budget-used-up') {
          const next = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1);
          if (next <= Math.min(lastTryAt(one.dateEnd).getTime(), end)) {
            waiting.push({ one, from: next });
            continue;
          }
        }
        lines.push(lineOf(at, decision));
      }
      if (decisions.length > 0) lines.push(left.available.toString());
    }
    return lines;
  }

  const lineOf = (at: Date, { candidate, ...said }: RenewalDecision<Rental>): string =>
    [at, candidate.proxyId, candidate.dateEnd, said.renew || said.reason].map(String).join(' ');

  it.each(Array.from({ length: 40 }, (_, seed) => seed))(
    'decides as the job does, each rental by itself: seed %i',
    async (seed) => {
      const random = new SeededRandom(seed);
      const roubles = (most: number): Money => Money.ofKopecks(BigInt(random.integer(0, most)));
      const ends = Array.from({ length: 4 }, () => NOW.getTime() + random.integer(0, 20 * 24) * HOUR_MS);
      const kinds = Array.from({ length: 3 }, () => ({
        price: random.chance(0.1) ? null : roubles(900),
        maxPrice: random.chance(0.2) ? roubles(900) : null,
        period: random.integer(1, 9) * 3,
        hoursBefore: random.integer(1, 168),
      }));
      const rentals = Array.from({ length: 25 }, (_, n) =>
        rental(
          n + 1,
          new Date((random.shuffle(ends)[0] ?? 0) + random.integer(0, 3_599_999)).toISOString(),
          random.shuffle(kinds)[0],
        ),
      );
      const left = roubles(9000);
      const given = funds(roubles(60_000).toString(), {
        budget: random.chance(0.6) ? { monthly: roubles(20_000), left } : null,
      });
      const days = random.chance(0.5) ? 60 : random.integer(1, 20);
      const lines: string[] = [];
      const decided = new Set<number>();
      await runForecast(given, rentals, days, ({ at, decisions, available }) => {
        lines.push(...decisions.map((decision) => lineOf(at, decision)), available.toString());
        for (const { candidate } of decisions) decided.add(candidate.proxyId);
      });
      expect(lines).toEqual(oneByOne(given, rentals, days));
      const end = NOW.getTime() + days * 24 * HOUR_MS;
      const due = rentals.filter((one) => renewalDueAt(one.dateEnd, one.hoursBefore).getTime() <= end);
      expect(due.filter(({ proxyId }) => !decided.has(proxyId))).toEqual([]);
    },
  );
});

const ending = (day: number, period: number, roubles: string) => ({
  day,
  period,
  cost: Money.parse(roubles),
});

describe('A balance', () => {
  it.each([
    ['that has nothing to pay lasts', '0', [], null],
    ['lasts until the day that it cannot pay', '10', [ending(3, 30, '10.01')], 3],
    ['lasts until the second renewal', '10', [ending(3, 30, '10')], 33],
    ['pays in the order of ends', '10', [ending(5, 365, '6'), ending(2, 3, '4')], 5],
    ['pays each rental again and again', '100', [ending(0, 3, '10')], 30],
    ['lasts when it pays for all within the horizon', '10', [ending(0, BALANCE_DAYS, '10')], null],
    ['does not last when one more day counts', '10', [ending(0, BALANCE_DAYS - 1, '10')], BALANCE_DAYS - 1],
    ['is not asked beyond the horizon', '0', [ending(BALANCE_DAYS, 30, '10')], null],
  ])('%s', (_, balance, rentals, day) => {
    expect(firstUnpaidDay(Money.parse(balance), rentals)).toBe(day);
  });

  it.each(Array.from({ length: 50 }, (_, seed) => seed))(
    'lasts as long as a forecast says (%i)',
    async (seed) => {
      const random = new SeededRandom(seed);
      const rentals = Array.from({ length: random.integer(1, 30) }, () =>
        ending(random.integer(0, 60), random.integer(1, 40), String(random.integer(0, 20))),
      );
      const balance = String(random.integer(0, 2000));
      const unpaid = await runForecast(
        funds(balance, { now: new Date(0) }),
        rentals.map(({ day, period, cost: price }, n) =>
          rental(n, new Date((24 * day + 12) * HOUR_MS).toISOString(), { period, price, hoursBefore: 1 }),
        ),
        BALANCE_DAYS,
      );
      expect(firstUnpaidDay(Money.parse(balance), rentals)).toBe(
        unpaid && Math.floor(unpaid.getTime() / (24 * HOUR_MS)),
      );
    },
  );
});
