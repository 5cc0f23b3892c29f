import { DataSource } from 'typeorm';
import { eventually } from '../../test/support/built-service';
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database';
import { dataSourceOptions } from '../database';
import { CallRate } from './call-rate';
import { ProviderUnavailable } from './provider-errors';

describe('CallRate', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let providers = 0;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await new DataSource(
      dataSourceOptions({ url: database.url, poolSize: 4, applicationName: 'call-rate-spec' }),
    ).initialize();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const createRate = (calls: number, windowMs: number) =>
    new CallRate(dataSource, `provider ${(providers += 1)}`, calls, windowMs);

  /** Two processes at the same provider. */
  const createRates = (calls: number, windowMs: number) => {
    const name = `provider ${(providers += 1)}`;
    return [1, 2].map(() => new CallRate(dataSource, name, calls, windowMs)) as [CallRate, CallRate];
  };

  it('never lets more than its number into any window', async () => {
    const rate = createRate(3, 100);
    const starts: number[] = [];
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        await rate.waitForPermit('order', 10_000);
        starts.push(performance.now());
      }),
    );
    expect(starts).toHaveLength(10);
    const spansOfFour = starts.slice(3).map((start, at) => start - (starts[at] ?? Number.NaN));
    expect(Math.min(...spansOfFour)).toBeGreaterThanOrEqual(100);
  });

  it('lets the first calls pass at once', async () => {
    const rate = createRate(3, 60_000);
    await Promise.all([
      rate.waitForPermit('order', 0),
      rate.waitForPermit('order', 0),
      rate.waitForPermit('order', 0),
    ]);
  });

  it('permits away who would have to wait too long, and serves the next in line', async () => {
    const rate = createRate(1, 500);
    await rate.waitForPermit('order', 0);
    const impatient = rate.waitForPermit('order', 1);
    const patient = rate.waitForPermit('order', 10_000);
    await expect(impatient).rejects.toBeInstanceOf(ProviderUnavailable);
    await patient;
  });

  it('gives confirmations one call in three while orders wait, and all there is when none do', async () => {
    const rate = createRate(1, 1);
    await rate.waitForPermit('rest', 0);
    const served: string[] = [];
    const call = async (priority: 'order' | 'confirmation' | 'price' | 'rest') => {
      await rate.waitForPermit(priority, 60_000);
      served.push(priority.slice(0, 1));
    };
    await Promise.all([
      ...Array.from({ length: 2 }, () => call('rest')),
      ...Array.from({ length: 2 }, () => call('price')),
      ...Array.from({ length: 4 }, () => call('confirmation')),
      ...Array.from({ length: 6 }, () => call('order')),
    ]);
    expect(served.join('')).toBe('oocoocooccpprr');
  });

  it('lets orders of one process go before the rest of another', async () => {
    const [one, other] = createRates(1, 100);
    await one.waitForPermit('rest', 0);
    const served: string[] = [];
    const call = async (rate: CallRate, priority: 'order' | 'rest') => {
      await rate.waitForPermit(priority, 60_000);
      served.push(priority.slice(0, 1));
    };
    await Promise.all([
      ...Array.from({ length: 3 }, () => call(other, 'rest')),
      ...Array.from({ length: 4 }, () => call(one, 'order')),
    ]);
    expect(served.join('')).toBe('oooorrr');
  });

  it('gives a place that was given back to who waits', async () => {
    const rate = createRate(1, 60_000);
    const permit = await rate.waitForPermit('order', 0);
    const waiting = rate.waitForPermit('order', 10_000);
    await permit.giveBack();
    await permit.giveBack();
    await waiting;
    await expect(rate.waitForPermit('order', 0)).rejects.toBeInstanceOf(ProviderUnavailable);
  });

  it('hears of a place that comes back between the database’s answer and the wait that it told of', async () => {
    const rate = createRate(1, 60_000);
    const permit = await rate.waitForPermit('order', 0);
    const createQueryRunner = dataSource.createQueryRunner.bind(dataSource);
    const asking = jest.spyOn(dataSource, 'createQueryRunner').mockImplementationOnce(() => {
      const runner = createQueryRunner();
      const query = runner.query.bind(runner);
      return Object.assign(runner, {
        query: async (statement: string, parameters?: unknown[]) => {
          const answer: unknown = await query(statement, parameters);
          await permit.giveBack();
          return answer;
        },
      });
    });
    await rate.waitForPermit('order', 5000);
    asking.mockRestore();
  });

  it('forgets who gave up, so that they stand in nobody’s way', async () => {
    const [one, other] = createRates(1, 400);
    await one.waitForPermit('rest', 0);
    await expect(one.waitForPermit('order', 0)).rejects.toBeInstanceOf(ProviderUnavailable);
    const demand = 'SELECT FROM call_demand WHERE provider = $1 AND cardinality(priorities) > 0';
    await eventually(async () => (await dataSource.query(demand, [`provider ${providers}`])).length === 0);
    await other.waitForPermit('rest', 600);
  });

  it('gives every call its permit at once, and asks no database, where there is no limit', async () => {
    const rate = new CallRate(new DataSource({ type: 'postgres' }), 'none', 0);
    const permits = await Promise.all(Array.from({ length: 100 }, () => rate.waitForPermit('rest', 0)));
    expect(permits.filter(({ until }) => until.hasPassed())).toEqual([]);
  });

  it('lets nothing pass that the database cannot be asked about', async () => {
    const rate = new CallRate(new DataSource({ type: 'postgres' }), 'unknown', 3);
    const startedAtMs = performance.now();
    await expect(rate.waitForPermit('order', 300)).rejects.toBeInstanceOf(ProviderUnavailable);
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(295);
    expect(rate.waitingCalls()).toEqual({ order: 0, confirmation: 0, price: 0, rest: 0 });
  });
});
