import { Money } from '../common';
import { foresee, type Funds, type Rental } from './forecast';

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

const funds = (available: string, more: Partial<Funds> = {}): Funds => ({
  now: NOW,
  available: Money.parse(available),
  budget: null,
  obstacle: null,
  ...more,
});

async function forecast(given: Funds, rentals: readonly Rental[], days = 90): Promise<string[]> {
  const lines: string[] = [];
  await foresee(given, rentals, days, ({ at, decisions, available }) => {
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

  it('gives short money to what is due first, and tells each rental that will end once', async () => {
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

  it('tells of everything that staff have paused', async () => {
    const rentals = [rental(1, '2026-11-24T10:00:00Z')];
    expect(await forecast(funds('100.00', { obstacle: 'paused' }), rentals)).toEqual([
      '2026-11-23T10:00 1 paused',
      '100.00 left',
    ]);
  });

  it('tells of what ends too soon to be renewed', async () => {
    expect(await forecast(funds('100.00'), [rental(1, '2026-11-21T13:00:00Z')])).toEqual([
      '2026-11-21T12:30 1 too-late',
      '100.00 left',
    ]);
  });

  it('decides very many in slices, as all at once, and lets others have their turn in between', async () => {
    const rentals = Array.from({ length: 2500 }, (_, n) => rental(2500 - n, '2026-11-25T10:20:30Z'));
    const renewed: number[] = [];
    let decidedInTurn = 0;
    let mostInTurn = 0;
    let isDone = false;
    const takeTurns = (): void => {
      decidedInTurn = 0;
      if (!isDone) setImmediate(takeTurns);
    };
    takeTurns();
    await foresee(funds('15000.00'), rentals, 20, ({ decisions }) => {
      decidedInTurn += decisions.length;
      mostInTurn = Math.max(mostInTurn, decidedInTurn);
      for (const { candidate, renew } of decisions) if (renew) renewed.push(candidate.proxyId);
    });
    isDone = true;
    expect(renewed).toEqual(Array.from({ length: 1500 }, (_, n) => n + 1));
    expect(mostInTurn).toBeLessThanOrEqual(1000);
  });
});
