import { createOrdinaryDatabase } from '../baseline/ordinary-database';
import type { Fixture, FixtureEnvironment } from '../support/fixture';
import type { Customer } from '../support/order-client';
import { baselineProlongation, baselinePurchase } from './baseline-transactions';
import type { CustomerPool } from './customer-pool';
import { type RecordedOrder, toPgbenchScript } from './pgbench-script';
import { placeOrder, prolongation, purchase } from './requests';
import { withStatementRecorder } from './statement-recorder';
import {
  BARE_NODE,
  type BenchRequest,
  copySubject,
  HEALTH,
  httpSubject,
  type Instruments,
  ORDINARY_TRANSACTIONS,
  pgbenchSubject,
  SAME_STATEMENTS,
  type Server,
  SERVICE,
  type Subject,
} from './subjects';

export const LARGEST_EXPORT = 100_000;
/** The sandbox's IPv6 price for 30 days with the default markup, in roubles. */
const UNIT_PRICE = '25.08';
const SHOWN_COLUMNS =
  'id, host, port, login, password, proxy_type, country, version, date_start, date_end, active, descr';

/** Everything that a workload is built from. */
export interface WorkloadContext {
  readonly fixture: Fixture;
  readonly customerPool: CustomerPool;
  readonly service: Server;
  /** Null when the service is measured without baselines. */
  readonly bare: Server | null;
  readonly instruments: Instruments;
  /** Paths of the programs; null when they are not installed or no baseline is wanted. */
  readonly pgbench: string | null;
  readonly psql: string | null;
  /** Environment of the service whose statements are recorded. */
  readonly recordingEnvironment: FixtureEnvironment;
}

export interface Workload {
  readonly title: string;
  readonly subjects: readonly Subject[];
  /** Requests to which the service and bare node must respond with the same bytes. */
  readonly equivalentRequests: readonly BenchRequest[];
}

type WorkloadFactory = (context: WorkloadContext) => Promise<Workload>;

const get =
  (path: string) =>
  (customer: Customer): BenchRequest => ({ path, token: customer.token });

/** Repeats the requests until there are at least two for each connection; each user has equally many. */
export function repeatForConnections(
  requests: readonly BenchRequest[],
  { connections }: Instruments,
): BenchRequest[] {
  const times = Math.ceil((2 * connections) / requests.length);
  return Array.from({ length: times }, () => requests).flat();
}

/** A read; the baseline is bare node, on request also the service's own /health. */
function readWorkload(
  path: string,
  chooseCustomers: (customerPool: CustomerPool) => Promise<readonly Customer[]>,
  { withHealth = false } = {},
): WorkloadFactory {
  return async ({ customerPool, service, bare, instruments }) => {
    const requests = (await chooseCustomers(customerPool)).map(get(path));
    const sent = repeatForConnections(requests, instruments);
    const health = [{ path: '/health', token: null }];
    return {
      title: `GET ${path}`,
      equivalentRequests: requests,
      subjects: [
        httpSubject(SERVICE, service, sent, instruments),
        ...(bare ? [httpSubject(BARE_NODE, bare, sent, instruments)] : []),
        ...(withHealth
          ? [
              httpSubject(HEALTH, service, repeatForConnections(health, instruments), instruments, {
                atRates: false,
              }),
            ]
          : []),
      ],
    };
  };
}

const listWorkload = (proxies: number): WorkloadFactory => {
  const createWorkload = readWorkload('/proxies', (customerPool) => customerPool.readersWith(proxies));
  return async (context) => ({ ...(await createWorkload(context)), title: `GET /proxies, ${proxies}` });
};

/** Sequential downloads; the baselines are bare node and psql, which copies the same rows out. */
const exportWorkload =
  (format: 'json' | 'txt', proxies = LARGEST_EXPORT): WorkloadFactory =>
  async ({ fixture, customerPool, service, bare, instruments, psql }) => {
    const [reader] = await customerPool.readersWith(proxies);
    if (!reader) throw new Error(`There is no customer with ${proxies} proxies`);
    const requests = [get(`/proxies/export?format=${format}`)(reader)];
    const columns = format === 'json' ? SHOWN_COLUMNS : 'host, port, login, password';
    const rows = `SELECT ${columns} FROM proxies WHERE user_id = ${reader.id} ORDER BY id`;
    const databaseUrl = fixture.environment.DATABASE_URL;
    const alone = { connections: 1 };
    return {
      title: `GET /proxies/export, ${format}, ${proxies}`,
      equivalentRequests: requests,
      subjects: [
        httpSubject(SERVICE, service, requests, instruments, alone),
        ...(bare ? [httpSubject(BARE_NODE, bare, requests, instruments, alone)] : []),
        ...(psql === null ? [] : [copySubject({ program: psql, databaseUrl, rows }, instruments)]),
      ],
    };
  };

/** Purchases; the baselines are the same statements, and a conventional implementation, in pgbench. */
const purchaseWorkload =
  (count: number, users: 'many' | 'one'): WorkloadFactory =>
  async (context) => {
    const { customerPool, service, instruments } = context;
    const buyers = users === 'many' ? await customerPool.buyers() : [await customerPool.busyBuyer()];
    const requests = buyers.map(({ token }) => purchase(token, count));
    const choose = '\\set user random(:first, :last)';
    return {
      title: `POST /proxies/buy, ${count}, ${users === 'many' ? 'many users' : 'one busy user'}`,
      equivalentRequests: [],
      subjects: [
        httpSubject(SERVICE, service, repeatForConnections(requests, instruments), instruments),
        ...(await databaseSubjects(context, {
          choose,
          toBaselineScript: baselinePurchase,
          count,
          buyer: buyers[0] as Customer,
          request: purchase(buyers[0]?.token ?? '', count),
          proxyId: null,
          variables: { first: buyers[0]?.id ?? 0, last: buyers.at(-1)?.id ?? 0 },
          baseline: { users: buyers.length, proxies: 0, variables: { first: 1, last: buyers.length } },
        })),
      ],
    };
  };

const prolongWorkload: WorkloadFactory = async (context) => {
  const { customerPool, service, instruments, fixture } = context;
  const bought = await customerPool.boughtProxies(service.baseUrl);
  const requests = bought.map(({ customer, proxyId }) => prolongation(customer.token, proxyId));
  const { first, count } = await customerPool.proxiesToProlong();
  // Each client cycles through proxies of its own, so an order is closed long before its proxy recurs.
  const { connections } = instruments;
  const choose =
    `\\set cycle (:cycle + 1) % ${Math.floor(count / connections)}\n` +
    `\\set proxy :first + :client_id + ${connections} * :cycle\n` +
    'SELECT user_id AS user FROM proxies WHERE id = :proxy\n\\gset';
  const users = new Set(bought.map(({ customer }) => customer.id)).size;
  const [one] = bought.slice(-1);
  if (!one) throw new Error('No proxy was bought');
  await fixture.query('ANALYZE');
  return {
    title: 'POST /proxies/{id}/prolong',
    equivalentRequests: [],
    subjects: [
      httpSubject(SERVICE, service, requests, instruments),
      ...(await databaseSubjects(context, {
        choose,
        toBaselineScript: baselineProlongation,
        count: 1,
        buyer: one.customer,
        request: prolongation(one.customer.token, one.proxyId),
        proxyId: Number(one.proxyId),
        variables: { first, cycle: 0 },
        baseline: { users, proxies: count, variables: { first: 1, cycle: 0 } },
      })),
    ],
  };
};

interface OrderWorkload {
  /** pgbench commands that choose the user, and for a prolongation the proxy. */
  readonly choose: string;
  readonly toBaselineScript: typeof baselinePurchase;
  readonly count: number;
  readonly buyer: Customer;
  readonly request: BenchRequest;
  readonly proxyId: number | null;
  /** Of the script, in the service's database. */
  readonly variables: Readonly<Record<string, number>>;
  /** What the ordinary database holds, and the variables of the script there. */
  readonly baseline: {
    readonly users: number;
    readonly proxies: number;
    readonly variables: Readonly<Record<string, number>>;
  };
}

async function databaseSubjects(context: WorkloadContext, order: OrderWorkload): Promise<Subject[]> {
  const { pgbench, fixture, instruments } = context;
  if (pgbench === null) return [];
  const { count, choose, variables, baseline, toBaselineScript } = order;
  const make = (
    name: string,
    databaseUrl: string,
    script: string,
    its: Readonly<Record<string, number>>,
  ): Subject => pgbenchSubject(name, { program: pgbench, databaseUrl, script }, its, instruments);
  const recorded = await recordScript(context, order);
  const ordinaryUrl = await createOrdinaryDatabase(fixture, baseline);
  return [
    make(SAME_STATEMENTS, fixture.environment.DATABASE_URL, recorded, variables),
    make(
      ORDINARY_TRANSACTIONS,
      ordinaryUrl,
      toBaselineScript({ count, unitPrice: UNIT_PRICE }, choose),
      baseline.variables,
    ),
  ];
}

/** Runs the order once on a service in this process and turns the statements that it sent into a script. */
async function recordScript(
  { recordingEnvironment, fixture }: WorkloadContext,
  { buyer, request, proxyId, choose }: OrderWorkload,
): Promise<string> {
  return withStatementRecorder(recordingEnvironment, async ({ baseUrl, record }) => {
    // The first order fills the caches.
    await placeOrder(baseUrl, request);
    const { result, statements } = await record(() => placeOrder(baseUrl, request));
    const bought = await fixture.query<{ id: string }>(
      'SELECT provider_proxy_id AS id FROM proxies WHERE order_id = $1 ORDER BY id',
      [result.order_id],
    );
    const recorded: RecordedOrder = {
      orderId: result.order_id,
      userId: buyer.id,
      proxyId,
      providerProxyIds: bought.map(({ id }) => id),
    };
    return toPgbenchScript(statements, recorded, choose);
  });
}

/** How often each kind of request occurs among a thousand. */
const MIX_SHARES: readonly (readonly [share: number, kind: keyof typeof MIX_REQUESTS])[] = [
  [300, 'few'],
  [100, 'many'],
  [200, 'me'],
  [150, 'price'],
  [100, 'countries'],
  [50, 'count'],
  [50, 'export'],
  [30, 'buy'],
  [20, 'prolong'],
];

const PRICE = '/price?count=10&period=30&version=6';
const COUNTRIES = '/countries?version=6';

const MIX_REQUESTS = {
  few: (context: WorkloadContext) => readerRequests(context, 10, '/proxies'),
  many: (context: WorkloadContext) => readerRequests(context, 100, '/proxies'),
  me: (context: WorkloadContext) => readerRequests(context, 10, '/me'),
  price: (context: WorkloadContext) => readerRequests(context, 10, PRICE),
  countries: (context: WorkloadContext) => readerRequests(context, 10, COUNTRIES),
  count: (context: WorkloadContext) => readerRequests(context, 10, '/countries/ru/count'),
  export: (context: WorkloadContext) => readerRequests(context, 10, '/proxies/export?format=txt'),
  buy: async ({ customerPool }: WorkloadContext) =>
    (await customerPool.buyers()).map(({ token }) => purchase(token, 1)),
  prolong: async ({ customerPool, service }: WorkloadContext) =>
    (await customerPool.boughtProxies(service.baseUrl)).map(({ customer, proxyId }) =>
      prolongation(customer.token, proxyId),
    ),
} satisfies Record<string, (context: WorkloadContext) => Promise<BenchRequest[]>>;

async function readerRequests(
  { customerPool }: WorkloadContext,
  proxies: number,
  path: string,
): Promise<BenchRequest[]> {
  return (await customerPool.readersWith(proxies)).map(get(path));
}

/** Large enough that a proxy's prolongation is finished long before its next. */
const REQUESTS_PER_SHARE = 10;

/** The mix of a typical day, shuffled with a fixed seed. */
export async function dailyMixRequests(context: WorkloadContext): Promise<BenchRequest[]> {
  const requests: BenchRequest[] = [];
  for (const [share, kind] of MIX_SHARES) {
    const distinct = await MIX_REQUESTS[kind](context);
    for (let n = 0; n < REQUESTS_PER_SHARE * share; n += 1) {
      requests.push(distinct[n % distinct.length] as BenchRequest);
    }
  }
  return shuffled(requests);
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  let state = 1;
  const keyed = items.map((item) => {
    state = (state * 48_271) % 2_147_483_647;
    return { item, key: state };
  });
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}

const mixWorkload: WorkloadFactory = async (context) => ({
  title: "a day's mix",
  equivalentRequests: [],
  subjects: [httpSubject(SERVICE, context.service, await dailyMixRequests(context), context.instruments)],
});

const smallReaders = (customers: CustomerPool): Promise<readonly Customer[]> => customers.readersWith(10);

/** Keyed by the names that `--only` accepts. */
export const WORKLOADS = {
  me: readWorkload('/me', smallReaders),
  countries: readWorkload(COUNTRIES, smallReaders, { withHealth: true }),
  price: readWorkload(PRICE, smallReaders, { withHealth: true }),
  'proxies-10': listWorkload(10),
  'proxies-100': listWorkload(100),
  'proxies-1000': listWorkload(1000),
  'export-json': exportWorkload('json'),
  'export-txt': exportWorkload('txt'),
  prolong: prolongWorkload,
  'buy-1': purchaseWorkload(1, 'many'),
  'buy-1-busy': purchaseWorkload(1, 'one'),
  'buy-100': purchaseWorkload(100, 'many'),
  'buy-100-busy': purchaseWorkload(100, 'one'),
  mix: mixWorkload,
} satisfies Record<string, WorkloadFactory>;

export type WorkloadName = keyof typeof WORKLOADS;

export const WORKLOAD_NAMES = Object.keys(WORKLOADS).filter(isWorkloadName);

export function isWorkloadName(name: string): name is WorkloadName {
  return Object.hasOwn(WORKLOADS, name);
}
