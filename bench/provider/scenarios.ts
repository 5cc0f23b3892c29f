import { setTimeout as pause } from 'node:timers/promises';
import { progress } from '../support/command';
import type { Fixture, Replicas } from '../support/fixture';
import { markdownTable, milliseconds, seconds } from '../support/markdown';
import {
  type Attempt,
  type Customer,
  nowMs,
  type Order,
  pauseUntil,
  runClosedLoop,
  sendOrder,
} from '../support/order-client';
import { median, mostInAnySecond, percentile, tally } from '../support/statistics';
import { deliveredPerSecond, type OrderMetrics, orderTable, readTable, waitsMs } from './report';
import { read, type Read, readSteadily } from './steady-reads';

/** The provider's rate limit for one key. */
export const CALLS_PER_SECOND = 3;
const ORDERS_PER_CALL = 100;
const PURCHASE_WAIT_MS = 20_000;

const READS_PER_SECOND = 50;
const READ_PATHS = ['/countries', '/countries/ru/count', '/price?count=1&period=30'];
const MIXED_COUNTRIES = ['ru', 'us', 'de', 'nl'];
const MIXED_PERIODS = [7, 14, 30];
const SINGLE_ORDERS = 3;
/** Lets the provider's rate window of one second pass. */
const IDLE_MS = 3000;

const REFUSALS_MEASURED = 50;
/** A slower response has waited for the provider. */
const IMMEDIATE_MS = 500;
const OPENING_ROUNDS = 5;
/**
 * Short, because this scenario leaves purchases with an unknown outcome that must be settled before the
 * audit.
 */
const BREAKER_QUIET_SECONDS = 5;

const BUSY_USER_ORDERS = 200;
const BUSY_USER_PERIODS = [3, 7, 14, 30, 60, 90, 180, 365];
const SINGLE_ORDER_USERS = 20;
const SINGLE_ORDERS_DELAY_MS = 3000;
const FAIRNESS_MS = 30_000;

const AMPLE_STOCK = 1_000_000;
const SETTLE_TIMEOUT_MS = 180_000;

export interface ScenarioOptions {
  readonly users: number;
  readonly seconds: number;
  readonly replicas: number;
  readonly latencyMs: number;
  readonly warmupSeconds: number;
}

/** What two purchases must have in common to be in one batch. */
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

/** Runs the scenarios and collects the violations of what they expect. */
export class ProviderScenarios {
  readonly problems: string[] = [];
  private countries: { readonly v6: string[]; readonly v4: string[] } = { v6: [], v4: [] };

  constructor(
    private readonly fixture: Fixture,
    private readonly options: ScenarioOptions,
  ) {}

  async run(): Promise<string> {
    await this.prepareSandbox();
    const prolongers = await this.withReplicas('setting up', {}, (replicas) => this.buyForAll(replicas));
    await this.fixture.control.setLatencies({ buy: this.options.latencyMs, prolong: this.options.latencyMs });

    const unbatched = await this.withReplicas(
      'unbatched orders',
      { ORDERS_PER_CALL: '1' },
      async (replicas) => ({
        purchases: await this.check('purchases', () => this.buyInLoop(replicas, roundRobin([ONE_KIND]))),
        prolongations: await this.check('prolongations', () => this.prolongInLoop(replicas, prolongers)),
      }),
    );
    const batched = await this.withReplicas('batched orders', {}, async (replicas) => ({
      purchases: await this.check('purchases, and reads', () => this.buyAndRead(replicas)),
      mixed: await this.check('purchases of 12 kinds', () =>
        this.buyInLoop(replicas, roundRobin(MIXED_KINDS)),
      ),
      prolongations: await this.check('prolongations', () => this.prolongInLoop(replicas, prolongers)),
      single: await this.check('single orders', () => this.orderSingly(replicas)),
      fairness: await this.check('fairness', () => this.orderBesideBusyOne(replicas)),
    }));
    const refusals = await this.withReplicas(
      'breaker',
      { RECONCILE_QUIET_SECONDS: String(BREAKER_QUIET_SECONDS) },
      (replicas) => this.check('open breaker', () => this.buyAgainstOpenBreaker(replicas)),
    );
    this.findCallProblems('the whole run', await this.fixture.control.getCalls());

    const { purchases, reads } = batched.purchases;
    const gain = (after: OrderMetrics, before: OrderMetrics): string =>
      (deliveredPerSecond(after) / deliveredPerSecond(before)).toFixed(1);
    return [
      '# Many users and a provider limited to three calls per second',
      '',
      `${await this.fixture.describe()}.`,
      '',
      this.describeLoad(),
      '',
      orderTable({
        'purchases unbatched': unbatched.purchases,
        'purchases batched': purchases,
        'batched, 12 kinds': batched.mixed,
        'prolongations unbatched': unbatched.prolongations,
        'prolongations batched': batched.prolongations,
      }),
      '',
      `Batching delivers ${gain(purchases, unbatched.purchases)} times the purchases of one kind and ` +
        `${gain(batched.prolongations, unbatched.prolongations)} times the prolongations.`,
      '',
      `Reads, ${READS_PER_SECOND} per second, during the batched purchases:`,
      '',
      readTable(reads),
      '',
      'The time that a single order on an idle service takes beyond the provider’s ' +
        `${seconds(this.options.latencyMs)}, and a refusal while the breaker is open:`,
      '',
      markdownTable(
        ['', 'measured', 'median', 'maximum'],
        [timesRow('single purchase', batched.single), timesRow('503, breaker open', refusals)],
      ),
      '',
      `One busy user keeps ${BUSY_USER_ORDERS} orders of different kinds in the queue; ` +
        `${SINGLE_ORDER_USERS} others order once each:`,
      '',
      fairnessTable(batched.fairness, this.options.latencyMs),
      '',
      this.problems.length === 0
        ? 'The audit of the books against the provider found nothing after any scenario.'
        : ['**Violations:**', '', ...this.problems.map((problem) => `- ${problem}`)].join('\n'),
      '',
    ].join('\n');
  }

  private describeLoad(): string {
    const { users, replicas, seconds: measured, warmupSeconds, latencyMs } = this.options;
    return [
      `${users} users, each with one order after the other, on ${replicas} replicas for ${measured} s`,
      `after a warm-up of ${warmupSeconds} s. A purchase or prolongation takes the provider`,
      `${seconds(latencyMs)}; it allows ${CALLS_PER_SECOND} calls per second. An order is queued for at most`,
      `${seconds(PURCHASE_WAIT_MS)}; after a 503 it is sent again when \`Retry-After\` has passed.`,
      `Unbatched: ORDERS_PER_CALL=1. Batched: ORDERS_PER_CALL=${ORDERS_PER_CALL}.`,
    ].join('\n');
  }

  /** Gives the sandbox ample stock and balance before any service caches its catalog. */
  private async prepareSandbox(): Promise<void> {
    const { control, wire } = this.fixture;
    const listCountries = async (version: '6' | '4'): Promise<string[]> => {
      const { list } = await wire.ask<{ list: string[] }>(`getcountry?version=${version}`);
      for (const country of list) await control.setStock(version, country, AMPLE_STOCK);
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

  /** Runs a scenario, waits until every order is settled, and checks the books and the calls. */
  private async check<Result>(name: string, scenario: () => Promise<Result>): Promise<Result> {
    progress(`  ${name}`);
    const startedAtMs = nowMs();
    const result = await scenario();
    const open = await this.fixture.untilSettled(SETTLE_TIMEOUT_MS);
    if (open > 0) this.problems.push(`${name}: ${open} orders were still open at the end`);
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
      `${name}: unexpected responses ${JSON.stringify(tally(others.map(({ status }) => status)))}, ` +
        `for example ${example}`,
    );
  }

  /** Buys one proxy for each user to prolong. */
  private async buyForAll(replicas: Replicas): Promise<Prolonger[]> {
    const customers = await this.fixture.createCustomers(this.options.users);
    return Promise.all(
      customers.map(async (customer) => {
        const { status, body } = await sendOrder(replicas.chooseBaseUrl, purchase(customer, ONE_KIND));
        if (status !== 200) throw new Error(`A purchase got response ${status}: ${JSON.stringify(body)}`);
        const [proxy] = (body as { proxies: { id: string }[] }).proxies;
        if (!proxy) throw new Error('A purchase delivered no proxy');
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
    if (!reader) throw new Error('There is no user for the reads');
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

  /** Gives the time of each order beyond the provider's latency. */
  private async orderSingly({ chooseBaseUrl }: Replicas): Promise<number[]> {
    const attempts: Attempt[] = [];
    for (const customer of await this.fixture.createCustomers(SINGLE_ORDERS)) {
      await pause(IDLE_MS);
      attempts.push(await sendOrder(chooseBaseUrl, purchase(customer, ONE_KIND)));
    }
    this.expectStatuses('single orders', attempts, [200]);
    return waitsMs(attempts, this.options.latencyMs);
  }

  private async orderBesideBusyOne({ chooseBaseUrl }: Replicas): Promise<Fairness> {
    const [busyOne, ...others] = await this.fixture.createCustomers(1 + SINGLE_ORDER_USERS);
    if (!busyOne) throw new Error('There is no busy user');
    const { v6, v4 } = this.countries;
    const kinds = kindsOf(v6, BUSY_USER_PERIODS).slice(0, BUSY_USER_ORDERS);
    const onceKinds = kindsOf(v4.slice(0, others.length), [30]);
    // Otherwise the first order of a country waits for the stock look-up instead of the queue.
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
    await pauseUntil(startedAtMs + SINGLE_ORDERS_DELAY_MS);
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

  /** Gives the time of each refusal. */
  private async buyAgainstOpenBreaker({ baseUrls }: Replicas): Promise<number[]> {
    const [probing, ...customers] = await this.fixture.createCustomers(1 + MIXED_KINDS.length);
    const [baseUrl] = baseUrls;
    if (!probing || baseUrl === undefined) throw new Error('There is no customer or no replica');
    // Each replica has its own breakers, so only one is used.
    const buyOnce = (customer: Customer, kind: Kind): Promise<Attempt> =>
      sendOrder(() => baseUrl, purchase(customer, kind), { untilMs: 0 });

    await this.fixture.control.addFault({ method: 'buy', kind: 'http-status', status: 503, times: null });
    let isOpen = false;
    for (let round = 0; round < OPENING_ROUNDS && !isOpen; round += 1) {
      // Orders of one kind would fail together as one batch.
      await Promise.all(customers.map((customer, at) => buyOnce(customer, MIXED_KINDS[at] ?? ONE_KIND)));
      isOpen = (await immediateStatus(buyOnce(customers[0] ?? probing, ONE_KIND))) === 503;
    }
    if (!isOpen) this.problems.push('the breaker did not open');

    const refusals: Attempt[] = [];
    while (refusals.length < REFUSALS_MEASURED) refusals.push(await buyOnce(probing, ONE_KIND));
    this.expectStatuses('open breaker', refusals, [503]);
    const held = await this.fixture.query('SELECT FROM orders WHERE user_id = $1', [probing.id]);
    if (held.length > 0) this.problems.push(`open breaker: ${held.length} orders were reserved nevertheless`);

    await this.fixture.control.resetFaults();
    const recovered = await sendOrder(() => baseUrl, purchase(probing, ONE_KIND), {
      untilMs: nowMs() + SETTLE_TIMEOUT_MS,
    });
    this.expectStatuses('breaker, closed again', [recovered], [200]);
    return refusals.map(({ sentAtMs, answeredAtMs }) => answeredAtMs - sentAtMs);
  }
}

/** Cycles through the kinds. */
function roundRobin(kinds: readonly Kind[]): () => Kind {
  let next = 0;
  return () => {
    next += 1;
    return kinds[next % kinds.length] ?? ONE_KIND;
  };
}

/** The status of a response that did not wait for the provider; null if it did. */
async function immediateStatus(attempt: Promise<Attempt>): Promise<number | null> {
  const { status, sentAtMs, answeredAtMs } = await attempt;
  return answeredAtMs - sentAtMs < IMMEDIATE_MS ? status : null;
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
    [row('users with one order', once), row('busy user', busy)],
  );
}
