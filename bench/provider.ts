import 'reflect-metadata';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { deliveredPerSecond, type OrderMetrics, orderTable, readTable, waitsMs } from './provider/report';
import { read, type Read, readSteadily } from './provider/steady-reads';
import { Fixture, type Replicas } from './support/fixture';
import { markdownTable, milliseconds, seconds } from './support/markdown';
import {
  type Attempt,
  type Customer,
  nowMs,
  type Order,
  pauseUntil,
  runClosedLoop,
  sendOrder,
} from './support/order-client';
import { PROJECT } from './support/processes';
import { median, mostInAnySecond, percentile, tally } from './support/statistics';

/** What the provider allows for one key. */
const CALLS_PER_SECOND = 3;
const ORDERS_PER_CALL = 100;
const PURCHASE_WAIT_MS = 20_000;

const READS_PER_SECOND = 50;
const READ_PATHS = ['/countries', '/countries/ru/count', '/price?count=1&period=30'];
const MIXED_COUNTRIES = ['ru', 'us', 'de', 'nl'];
const MIXED_PERIODS = [7, 14, 30];
const LONE_ORDERS = 3;
/** For whatever came before to be over: the provider counts calls by the second. */
const IDLE_MS = 3000;

const REFUSALS_MEASURED = 50;
/** Slower than this, an answer has waited for the provider. */
const AT_ONCE_MS = 500;
const OPENING_ROUNDS = 5;
/** Short, because purchases whose outcome is unknown come with it, and are to be settled before the audit. */
const BREAKER_QUIET_SECONDS = 5;

const BUSY_ORDERS = 200;
const BUSY_PERIODS = [3, 7, 14, 30, 60, 90, 180, 365];
const ONCE_ORDERERS = 20;
const ONCE_AFTER_MS = 3000;
const FAIRNESS_MS = 30_000;

const PLENTY = 1_000_000;
const SETTLE_TIMEOUT_MS = 180_000;
const RESULTS = join(PROJECT, 'bench', 'results');

interface Options {
  readonly users: number;
  readonly seconds: number;
  readonly replicas: number;
  readonly latencyMs: number;
  readonly warmupSeconds: number;
}

const progress = (line: string): void => void process.stderr.write(`${line}\n`);

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      users: { type: 'string', default: '200' },
      seconds: { type: 'string', default: '60' },
      replicas: { type: 'string', default: '3' },
      'latency-ms': { type: 'string', default: '5000' },
      'warmup-seconds': { type: 'string', default: '30' },
    },
  });
  const whole = (name: keyof typeof values, min = 1): number => {
    const number = Number(values[name]);
    if (!Number.isInteger(number) || number < min) {
      throw new Error(`--${name} must be a whole number from ${min}`);
    }
    return number;
  };
  return {
    users: whole('users'),
    seconds: whole('seconds'),
    replicas: whole('replicas'),
    latencyMs: whole('latency-ms', 0),
    warmupSeconds: whole('warmup-seconds', 0),
  };
}

/** A kind of order: what must be the same for two to travel in one call. */
interface Kind {
  readonly country: string;
  readonly period: number;
  readonly version?: string;
}

const ONE_KIND: Kind = { country: 'ru', period: 7 };
const MIXED_KINDS = kindsOf(MIXED_COUNTRIES, MIXED_PERIODS);

function kindsOf(countries: readonly string[], periods: readonly number[]): Kind[] {
  return countries.flatMap((country) => periods.map((period) => ({ country, period })));
}

function purchase(customer: Customer, kind: Kind): Order {
  return { customer, path: '/proxies/buy', body: { version: '6', ...kind, count: 1 } };
}

interface Prolonger {
  readonly customer: Customer;
  readonly proxyId: string;
}

function prolongation({ customer, proxyId }: Prolonger): Order {
  return { customer, path: `/proxies/${proxyId}/prolong`, body: { period: 7 } };
}

interface Fairness {
  readonly once: readonly Attempt[];
  readonly busy: readonly Attempt[];
}

/** The scenarios, and what was found wrong in them. */
class ProviderScenarios {
  readonly problems: string[] = [];
  private countries: { readonly v6: string[]; readonly v4: string[] } = { v6: [], v4: [] };

  constructor(
    private readonly fixture: Fixture,
    private readonly options: Options,
  ) {}

  async run(): Promise<string> {
    await this.stock();
    const prolongers = await this.withReplicas('setting up', {}, (replicas) => this.buyForAll(replicas));
    await this.fixture.control.setLatencies({ buy: this.options.latencyMs, prolong: this.options.latencyMs });

    const apart = await this.withReplicas(
      'each order by itself',
      { ORDERS_PER_CALL: '1' },
      async (replicas) => ({
        purchases: await this.play('purchases', () => this.buyInLoop(replicas, inTurn([ONE_KIND]))),
        prolongations: await this.play('prolongations', () => this.prolongInLoop(replicas, prolongers)),
      }),
    );
    const together = await this.withReplicas('orders together', {}, async (replicas) => ({
      purchases: await this.play('purchases, and reads', () => this.buyAndRead(replicas)),
      mixed: await this.play('purchases of 12 kinds', () => this.buyInLoop(replicas, inTurn(MIXED_KINDS))),
      prolongations: await this.play('prolongations', () => this.prolongInLoop(replicas, prolongers)),
      lone: await this.play('lone orders', () => this.orderAlone(replicas)),
      fairness: await this.play('fairness', () => this.orderBesideBusyOne(replicas)),
    }));
    const refusals = await this.withReplicas(
      'breaker',
      { RECONCILE_QUIET_SECONDS: String(BREAKER_QUIET_SECONDS) },
      (replicas) => this.play('open breaker', () => this.buyAgainstOpenBreaker(replicas)),
    );
    this.findCallProblems('the whole run', await this.fixture.control.getCalls());

    const { purchases, reads } = together.purchases;
    const gain = (after: OrderMetrics, before: OrderMetrics): string =>
      (deliveredPerSecond(after) / deliveredPerSecond(before)).toFixed(1);
    return [
      '# Many users behind three requests a second',
      '',
      `${await this.fixture.describe()}.`,
      '',
      `${this.options.users} users, each with one order after the other, on ${this.options.replicas} replicas for ${this.options.seconds} s after ` +
        `${this.options.warmupSeconds} s of warming up. A purchase and a prolongation take the provider ${seconds(this.options.latencyMs)}; it allows ` +
        `${CALLS_PER_SECOND} calls a second. An order waits for its turn for ${seconds(PURCHASE_WAIT_MS)}; one that is answered 503 is sent again ` +
        `after \`Retry-After\`. Apart: ORDERS_PER_CALL=1. Together: ORDERS_PER_CALL=${ORDERS_PER_CALL}.`,
      '',
      orderTable({
        'purchases apart': apart.purchases,
        'purchases together': purchases,
        'together, 12 kinds': together.mixed,
        'prolongations apart': apart.prolongations,
        'prolongations together': together.prolongations,
      }),
      '',
      `Together, ${gain(purchases, apart.purchases)} times the purchases of one kind and ` +
        `${gain(together.prolongations, apart.prolongations)} times the prolongations come through.`,
      '',
      `Reads, ${READS_PER_SECOND} a second, while those purchases go on:`,
      '',
      readTable(reads),
      '',
      `An order alone on an idle service, beyond the provider's ${seconds(this.options.latencyMs)}; and a refusal while the breaker is open:`,
      '',
      markdownTable(
        ['', 'measured', 'median', 'most'],
        [timesRow('lone purchase', together.lone), timesRow('503, breaker open', refusals)],
      ),
      '',
      `One user keeps ${BUSY_ORDERS} orders of different kinds waiting; ${ONCE_ORDERERS} others order once each:`,
      '',
      fairnessTable(together.fairness, this.options.latencyMs),
      '',
      this.problems.length === 0
        ? 'After each scenario the audit of the books against the provider found nothing.'
        : ['**Not as it must be:**', '', ...this.problems.map((problem) => `- ${problem}`)].join('\n'),
      '',
    ].join('\n');
  }

  /** Enough of everything at the provider, before anybody keeps a copy of what it has. */
  private async stock(): Promise<void> {
    const { control, wire } = this.fixture;
    const listCountries = async (version: '6' | '4'): Promise<string[]> => {
      const { list } = await wire.ask<{ list: string[] }>(`getcountry?version=${version}`);
      for (const country of list) await control.setStock(version, country, PLENTY);
      return list;
    };
    this.countries = { v6: await listCountries('6'), v4: await listCountries('4') };
    await control.setBalance('100000000.00');
    await pause(IDLE_MS);
    await control.clearCalls();
  }

  private async withReplicas<Result>(
    name: string,
    environment: Readonly<Record<string, string>>,
    work: (replicas: Replicas) => Promise<Result>,
  ): Promise<Result> {
    progress(`${name}: starting ${this.options.replicas} replicas`);
    const replicas = await this.fixture.startReplicas(this.options.replicas, {
      ORDERS_PER_CALL: String(ORDERS_PER_CALL),
      PURCHASE_WAIT_MS: String(PURCHASE_WAIT_MS),
      ...environment,
    });
    const result = await work(replicas);
    await replicas.stop();
    return result;
  }

  /** Plays a scenario, lets every order come to its end, and looks for what must not be. */
  private async play<Result>(name: string, scenario: () => Promise<Result>): Promise<Result> {
    progress(`  ${name}`);
    const startedAtMs = nowMs();
    const result = await scenario();
    const open = await this.fixture.untilSettled(SETTLE_TIMEOUT_MS);
    if (open > 0) this.problems.push(`${name}: ${open} orders did not come to an end`);
    for (const violation of await this.fixture.audit()) this.problems.push(`${name}: ${violation}`);
    this.findCallProblems(name, await this.callsSince(startedAtMs));
    return result;
  }

  private async callsSince(timeMs: number, method?: string) {
    const calls = await this.fixture.control.getCalls(method);
    return calls.filter(({ receivedAtMs }) => receivedAtMs >= timeMs);
  }

  private findCallProblems(
    name: string,
    calls: readonly { readonly receivedAtMs: number; readonly status: number | null }[],
  ): void {
    const most = mostInAnySecond(calls.map(({ receivedAtMs }) => receivedAtMs));
    if (most > CALLS_PER_SECOND) this.problems.push(`${name}: ${most} calls within a second`);
    const refused = calls.filter(({ status }) => status === 429).length;
    if (refused > 0) this.problems.push(`${name}: ${refused} calls were answered 429`);
  }

  private expectStatuses(name: string, attempts: readonly Attempt[], expected: readonly number[]): void {
    const others = attempts.filter(({ status }) => !expected.includes(status));
    if (others.length === 0) return;
    const example = JSON.stringify(others[0]?.body);
    this.problems.push(
      `${name}: unexpected answers ${JSON.stringify(tally(others.map(({ status }) => status)))}, such as ${example}`,
    );
  }

  /** One proxy for each user, to prolong. */
  private async buyForAll(replicas: Replicas): Promise<Prolonger[]> {
    const customers = await this.fixture.createCustomers(this.options.users);
    return Promise.all(
      customers.map(async (customer) => {
        const { status, body } = await sendOrder(replicas.chooseBaseUrl, purchase(customer, ONE_KIND));
        if (status !== 200) throw new Error(`A purchase was answered ${status}: ${JSON.stringify(body)}`);
        const [proxy] = (body as { proxies: { id: string }[] }).proxies;
        if (!proxy) throw new Error('A purchase delivered nothing');
        return { customer, proxyId: proxy.id };
      }),
    );
  }

  private async buyInLoop(replicas: Replicas, nextKind: () => Kind): Promise<OrderMetrics> {
    const customers = await this.fixture.createCustomers(this.options.users);
    const clients = customers.map((customer) => () => purchase(customer, nextKind()));
    return this.measure(replicas, 'buy', clients, this.measuredTime());
  }

  private prolongInLoop(replicas: Replicas, prolongers: readonly Prolonger[]): Promise<OrderMetrics> {
    const clients = prolongers.map((prolonger) => () => prolongation(prolonger));
    return this.measure(replicas, 'prolong', clients, this.measuredTime());
  }

  private async buyAndRead(replicas: Replicas): Promise<{ purchases: OrderMetrics; reads: Read[] }> {
    const [reader, ...customers] = await this.fixture.createCustomers(this.options.users + 1);
    if (!reader) throw new Error('There is no user to read');
    const clients = customers.map((customer) => () => purchase(customer, ONE_KIND));
    const time = this.measuredTime();
    const [purchases, reads] = await Promise.all([
      this.measure(replicas, 'buy', clients, time),
      readSteadily({
        baseUrls: replicas.baseUrls,
        customer: reader,
        paths: READ_PATHS,
        perSecond: READS_PER_SECOND,
        ...time,
      }),
    ]);
    const failed = reads.filter(({ status }) => status !== 200).length;
    if (failed > 0) this.problems.push(`${failed} reads were not answered 200`);
    return { purchases, reads };
  }

  private measuredTime(): { readonly fromMs: number; readonly untilMs: number } {
    const fromMs = nowMs() + this.options.warmupSeconds * 1000;
    return { fromMs, untilMs: fromMs + this.options.seconds * 1000 };
  }

  private async measure(
    replicas: Replicas,
    method: 'buy' | 'prolong',
    clients: readonly (() => Order)[],
    { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
  ): Promise<OrderMetrics> {
    const startedAtMs = nowMs();
    const attempts = await runClosedLoop(replicas.chooseBaseUrl, clients, untilMs);
    this.expectStatuses(method, attempts, [200, 503]);
    const calls = await this.callsSince(startedAtMs);
    const moneyCalls = calls.filter((call) => call.method === method);
    const isMeasured = (timeMs: number): boolean => timeMs >= fromMs && timeMs < untilMs;
    const measured = attempts.filter(({ answeredAtMs }) => isMeasured(answeredAtMs));
    return {
      measuredSeconds: this.options.seconds,
      delivered: measured.filter(({ status }) => status === 200),
      answered503: measured.filter(({ status }) => status === 503).length,
      moneyCalls: moneyCalls.filter(({ receivedAtMs }) => isMeasured(receivedAtMs)).length,
      ordersPerCall: attempts.filter(({ status }) => status === 200).length / moneyCalls.length,
      mostCallsInAnySecond: mostInAnySecond(calls.map(({ receivedAtMs }) => receivedAtMs)),
      answered429: calls.filter(({ status }) => status === 429).length,
    };
  }

  /** Gives what each order took beyond the provider's own time. */
  private async orderAlone({ chooseBaseUrl }: Replicas): Promise<number[]> {
    const attempts: Attempt[] = [];
    for (const customer of await this.fixture.createCustomers(LONE_ORDERS)) {
      await pause(IDLE_MS);
      attempts.push(await sendOrder(chooseBaseUrl, purchase(customer, ONE_KIND)));
    }
    this.expectStatuses('lone orders', attempts, [200]);
    return waitsMs(attempts, this.options.latencyMs);
  }

  private async orderBesideBusyOne({ chooseBaseUrl }: Replicas): Promise<Fairness> {
    const [busyOne, ...others] = await this.fixture.createCustomers(1 + ONCE_ORDERERS);
    if (!busyOne) throw new Error('There is no busy user');
    const { v6, v4 } = this.countries;
    const kinds = kindsOf(v6, BUSY_PERIODS).slice(0, BUSY_ORDERS);
    const onceKinds = kindsOf(v4.slice(0, others.length), [30]);
    // Otherwise the first order from a country waits for what is in stock there, and not in the line of orders.
    const stocks = [
      ...v6.map((country) => `/countries/${country}/count?version=6`),
      ...onceKinds.map(({ country }) => `/countries/${country}/count?version=4`),
    ];
    for (const path of stocks) {
      const { status } = await read(chooseBaseUrl(), path, busyOne);
      if (status !== 200) this.problems.push(`fairness: ${path} was answered ${status}`);
    }
    const startedAtMs = nowMs();
    const busy = runClosedLoop(
      chooseBaseUrl,
      kinds.map((kind) => () => purchase(busyOne, kind)),
      startedAtMs + FAIRNESS_MS,
    );
    await pauseUntil(startedAtMs + ONCE_AFTER_MS);
    const once: Attempt[] = [];
    const onAttempt = (attempt: Attempt): void => void once.push(attempt);
    await Promise.all(
      others.map((customer, at) => {
        const kind = { ...(onceKinds[at] ?? ONE_KIND), version: '4' };
        return sendOrder(chooseBaseUrl, purchase(customer, kind), { onAttempt });
      }),
    );
    const result = { once, busy: await busy };
    this.expectStatuses('fairness', result.once, [200, 503]);
    this.expectStatuses('fairness', result.busy, [200, 503]);
    return result;
  }

  /** Gives how long each refusal took. */
  private async buyAgainstOpenBreaker({ baseUrls }: Replicas): Promise<number[]> {
    const [probing, ...customers] = await this.fixture.createCustomers(1 + MIXED_KINDS.length);
    const [baseUrl] = baseUrls;
    if (!probing || baseUrl === undefined) throw new Error('There is nobody to refuse, or nobody to do it');
    // Each replica has breakers of its own.
    const buyOnce = (customer: Customer, kind: Kind): Promise<Attempt> =>
      sendOrder(() => baseUrl, purchase(customer, kind), { untilMs: 0 });

    await this.fixture.control.orderFault({ method: 'buy', kind: 'http-status', status: 503, times: null });
    let isOpen = false;
    for (let round = 0; round < OPENING_ROUNDS && !isOpen; round += 1) {
      // Each of another kind: together they would fail as one.
      await Promise.all(customers.map((customer, at) => buyOnce(customer, MIXED_KINDS[at] ?? ONE_KIND)));
      isOpen = (await tookAtOnce(buyOnce(customers[0] ?? probing, ONE_KIND))) === 503;
    }
    if (!isOpen) this.problems.push('the breaker did not open');

    const refusals: Attempt[] = [];
    while (refusals.length < REFUSALS_MEASURED) refusals.push(await buyOnce(probing, ONE_KIND));
    this.expectStatuses('open breaker', refusals, [503]);
    const held = await this.fixture.query('SELECT FROM orders WHERE user_id = $1', [probing.id]);
    if (held.length > 0) this.problems.push(`open breaker: ${held.length} orders were reserved all the same`);

    await this.fixture.control.resetFaults();
    const recovered = await sendOrder(() => baseUrl, purchase(probing, ONE_KIND), {
      untilMs: nowMs() + SETTLE_TIMEOUT_MS,
    });
    this.expectStatuses('breaker, closed again', [recovered], [200]);
    return refusals.map(({ sentAtMs, answeredAtMs }) => answeredAtMs - sentAtMs);
  }
}

/** One after the other, and again from the first. */
function inTurn(kinds: readonly Kind[]): () => Kind {
  let turn = 0;
  return () => {
    turn += 1;
    return kinds[turn % kinds.length] ?? ONE_KIND;
  };
}

/** The status of an answer that has not waited for the provider; null of one that has. */
async function tookAtOnce(attempt: Promise<Attempt>): Promise<number | null> {
  const { status, sentAtMs, answeredAtMs } = await attempt;
  return answeredAtMs - sentAtMs < AT_ONCE_MS ? status : null;
}

function timesRow(title: string, timesMs: readonly number[]): string[] {
  return [
    title,
    String(timesMs.length),
    milliseconds(median(timesMs)),
    milliseconds(percentile(timesMs, 100)),
  ];
}

function fairnessTable({ once, busy }: Fairness, providerMs: number): string {
  const row = (title: string, attempts: readonly Attempt[]): string[] => {
    const waits = waitsMs(attempts, providerMs);
    const refused = attempts.filter(({ status }) => status === 503).length;
    return [
      title,
      String(waits.length),
      String(refused),
      seconds(median(waits)),
      seconds(percentile(waits, 100)),
    ];
  };
  return markdownTable(
    ['', 'delivered', 'answered 503', 'median wait', 'longest wait'],
    [row('who order once', once), row('the busy one', busy)],
  );
}

function interruption(): Promise<never> {
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => reject(new Error('interrupted')));
    }
  });
  // It may come before anybody waits for it.
  interrupted.catch(() => undefined);
  return interrupted;
}

async function main(): Promise<void> {
  const options = readOptions();
  const interrupted = interruption();
  const fixture = await Fixture.open(CALLS_PER_SECOND);
  try {
    const bench = new ProviderScenarios(fixture, options);
    const report = await Promise.race([bench.run(), interrupted]);
    process.stdout.write(report);
    await mkdir(RESULTS, { recursive: true });
    await writeFile(join(RESULTS, 'provider.md'), report);
    process.exitCode = bench.problems.length === 0 ? 0 : 1;
  } finally {
    await fixture.close();
  }
}

main()
  .catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  })
  // An interrupted scenario would go on against what is gone.
  .finally(() => process.exit());
