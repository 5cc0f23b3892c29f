import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Test, type TestingModule } from '@nestjs/testing';
import { DataSource } from 'typeorm';
import { readEnvironment, resolveConfig } from '../../src/config';
import { DatabaseModule } from '../../src/database';
import { GlobalsModule } from '../../src/globals.module';
import { ProviderModule, ProxyProvider } from '../../src/provider';
import { type Call, SandboxControl, startSandbox } from '../../src/sandbox';
import { eventually } from '../support/built-service';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { inLongForm } from '../support/long-form';
import { createTestDatabase } from '../support/test-database';

const PRIORITIES = ['order', 'confirmation', 'price', 'rest', 'exact'] as const;
const WAIT_MS = 15_000;
/** A call is written within 60 ms of its permit, and each window of permits lasts 1150 ms. */
const FOUR_WRITTEN_MS = 1150 - 60;

describe('the rate limit of three replicas', () => {
  let replicas: TestingModule[];
  let providers: ProxyProvider[];
  let dataSource: DataSource;
  let orders = 0;
  const database = forAllTests(createTestDatabase, (opened) => opened.drop());
  // Limits nothing, because a process that stalls receives its calls later than they were written.
  const sandbox = forAllTests(() => startSandbox({ rateLimitPerSecond: null }));
  const control = forAllTests(() => new SandboxControl(sandbox));
  beforeAll(async () => {
    const environment = readEnvironment({
      DATABASE_URL: database.url,
      PROVIDER: 'sandbox',
      DB_POOL_SIZE: '4',
    });
    const config = resolveConfig(environment, database.url, sandbox);
    replicas = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const imports = [GlobalsModule.with(config), DatabaseModule, ProviderModule];
        return (await Test.createTestingModule({ imports }).compile()).init();
      }),
    );
    const [first] = replicas;
    if (!first) throw new Error('no replica');
    dataSource = first.get(DataSource);
    providers = replicas.map((replica) => replica.get(ProxyProvider));
    // The first calls load code, which would distort the times that are measured.
    for (const priority of PRIORITIES) await Promise.all(providers.map(calls[priority]));
  });
  /** The time when each call was written, after the last check of its permit. */
  const writtenMs = new Map<ClientRequest, number>();
  // Node publishes it again for a request that was written at once.
  const note = (message: unknown): void => {
    const { request } = message as { readonly request: ClientRequest };
    const isToProvider = `http://${String(request.getHeader('host'))}` === sandbox.baseUrl;
    if (isToProvider && !writtenMs.has(request)) writtenMs.set(request, performance.now());
  };
  beforeAll(() => subscribe('http.client.request.start', note));
  beforeEach(async () => {
    // Permits count within a second: those of the previous test must not count.
    await pause(1200);
    await control.clearCalls();
    writtenMs.clear();
  });
  afterAll(() => void unsubscribe('http.client.request.start', note));
  beforeClosing(() => Promise.all(replicas.map((replica) => replica.close())));

  const calls: Record<(typeof PRIORITIES)[number], (provider: ProxyProvider) => Promise<unknown>> = {
    order: async (provider) => {
      const permit = await provider.waitForPermit('order', WAIT_MS);
      const order = { country: 'ru', version: '6', period: 30, count: 1, proxyType: 'http' } as const;
      await provider.buy({ ...order, orderReference: `rate.${(orders += 1)}` }, { permit, quoted: '1.00' });
    },
    confirmation: (provider) => provider.proxiesByReference('rate.0', { priority: 'confirmation' }),
    price: (provider) => provider.priceTable({ priority: 'price' }),
    rest: (provider) => provider.stock('ru', '6', { priority: 'rest' }),
    exact: (provider) => provider.totalPrice({ count: 1, period: 30, version: '6' }, { priority: 'exact' }),
  };
  const PRIORITY_OF: Readonly<Record<string, keyof typeof calls>> = {
    buy: 'order',
    getproxy: 'confirmation',
    getprice: 'price',
    getcount: 'rest',
  };

  const received = async (): Promise<Call[]> =>
    (await control.getCalls()).toSorted((one, other) => one.receivedAtMs - other.receivedAtMs);

  const prioritiesOf = (log: readonly Call[]) =>
    log.map(({ method, parameters }) =>
      'count' in parameters && method === 'getprice' ? 'exact' : PRIORITY_OF[method],
    );

  const closestFourMs = (): number => {
    const timesMs = [...writtenMs.values()];
    return Math.min(...timesMs.slice(3).map((atMs, place) => atMs - (timesMs[place] ?? Number.NaN)));
  };

  const expectWithinRate = (log: readonly Call[]): void => {
    expect(writtenMs.size).toBe(log.length);
    expect(closestFourMs()).toBeGreaterThanOrEqual(FOUR_WRITTEN_MS);
  };

  it('is used up and never exceeded under load: mostly by orders, and by every kind of call', async () => {
    const BUSY_CALLS = 15;
    const served = new Set<keyof typeof calls>();
    const isBusy = () => writtenMs.size < BUSY_CALLS || served.size < PRIORITIES.length;
    const work = async (provider: ProxyProvider, priority: keyof typeof calls): Promise<void> => {
      while (isBusy()) {
        // A read that gets no permit within 10 s fails.
        await calls[priority](provider);
        served.add(priority);
      }
    };
    await Promise.all(
      providers.flatMap((provider, at) =>
        // The last of three calls that share one permit in nine would give up.
        PRIORITIES.slice(0, at === 0 ? PRIORITIES.length : 2).map((priority) => work(provider, priority)),
      ),
    );
    const log = await received();
    expectWithinRate(log);
    const busy = log.slice(0, BUSY_CALLS);
    const [first, last] = [busy[0]?.receivedAtMs ?? Number.NaN, busy.at(-1)?.receivedAtMs ?? Number.NaN];
    expect(last - first).toBeLessThan(inLongForm(5500, Infinity));

    const priorities = prioritiesOf(busy);
    const confirmations = priorities.filter((priority) => priority === 'confirmation').length;
    expect(confirmations / busy.length).toBeGreaterThan(0.2);
    expect(confirmations / busy.length).toBeLessThan(0.42);
    expect(priorities.filter((priority) => priority === 'order').length / busy.length).toBeGreaterThan(0.3);
  });

  it('serves the calls of all replicas by priority', async () => {
    // All permits are taken first, so that every replica has stated its demand before the next one is free.
    await Promise.all(providers.map((provider) => calls.rest(provider)));
    await Promise.all(
      PRIORITIES.toReversed().flatMap((priority) => providers.map((provider) => calls[priority](provider))),
    );
    const log = await received();
    expectWithinRate(log);
    const served = prioritiesOf(log).map((priority) => priority?.slice(0, 1));
    // The three calls of a window are sent together, and may arrive in any order.
    const windows = [0, 3, 6, 9, 12, 15].map((at) =>
      served
        .slice(at, at + 3)
        .toSorted((one, other) => String(one).localeCompare(String(other)))
        .join(''),
    );
    // After eight others the rest and the exact prices are due, one of each, before another price.
    expect(windows).toEqual(['rrr', 'coo', 'cco', 'ppr', 'epr', 'eer']);
  });

  it('keeps no call waiting long for a replica that died while it waited', async () => {
    const [provider] = providers;
    if (!provider) throw new Error('no replica');
    const startedAtMs = performance.now();
    await dataSource.query(`SELECT take_rate_permit('px6', gen_random_uuid(), '{1,1}', 3, 1100)`);
    await calls.rest(provider);
    // A demand lasts for half a second. One that stayed would keep the call until it gives up.
    expect(performance.now() - startedAtMs).toBeGreaterThan(200);
  });

  it('recovers at once when the clock of the database is set back', async () => {
    await dataSource.query(
      `UPDATE rate_permits
          SET granted = ARRAY[now() + interval '1 hour'], paused_until = now() + interval '1 hour'`,
    );
    const [provider] = providers;
    if (!provider) throw new Error('no provider');
    const permit = await provider.waitForPermit('rest', 5000);
    await permit.giveBack();
  });

  it('takes another permit when the first has expired, and sends the call once', async () => {
    const [provider] = providers;
    if (!provider) throw new Error('no replica');
    const permit = await provider.waitForPermit('order', WAIT_MS);
    // Until its place in the window has gone to another call.
    await pause(1200);
    await Promise.all(providers.map((other) => calls.rest(other)));
    expect(permit.until.hasPassed()).toBe(true);
    const order = { country: 'ru', version: '6', period: 30, count: 1, proxyType: 'http' } as const;
    await provider.buy({ ...order, orderReference: 'rate.late' }, { permit, quoted: '1.00' });
    const log = await received();
    expectWithinRate(log);
    expect(log.map(({ method }) => method)).toEqual(['getcount', 'getcount', 'getcount', 'buy']);
  });

  it('pauses all replicas after a 429, and repeats the read', async () => {
    const [one, other] = providers;
    if (!one || !other) throw new Error('no replica');
    await control.addFault({ method: 'getcount', kind: 'http-status', status: 429 });
    const [{ before }] = await dataSource.query('SELECT clock_timestamp()::text AS before');
    const requested = calls.rest(one);
    const held = 'SELECT FROM rate_permits WHERE paused_until > $1';
    await eventually(async () => (await dataSource.query(held, [before])).length > 0);
    await Promise.all([requested, calls.rest(other)]);
    const log = await received();
    expect(log.map(({ status }) => status)).toEqual([429, 200, 200]);
    expect((log[1]?.receivedAtMs ?? 0) - (log[0]?.receivedAtMs ?? Number.NaN)).toBeGreaterThanOrEqual(1000);
  });
});
