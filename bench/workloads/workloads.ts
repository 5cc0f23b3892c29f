import { createHash } from 'node:crypto';
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
  pgbenchSubject,
  SAME_STATEMENTS,
  type Server,
  SERVICE,
  type Subject,
  THREE_TRANSACTIONS,
} from './subjects';

export const LARGEST_EXPORT = 100_000;
/** What the sandbox asks for 30 days, with the markup as it comes. */
const UNIT_PRICE = '25.08';
const SHOWN_COLUMNS =
  'id, host, port, login, password, proxy_type, country, version, date_start, date_end, active, descr';

/** What the paths are played with. */
export interface WorkloadContext {
  readonly fixture: Fixture;
  readonly customerPool: CustomerPool;
  readonly service: Server;
  /** Null: the service is measured by itself. */
  readonly bare: Server | null;
  readonly instruments: Instruments;
  /** Null when this machine has none. */
  readonly pgbench: string | null;
  readonly psql: string | null;
  /** Of a service whose statements are recorded. */
  readonly recordingEnvironment: FixtureEnvironment;
}

export interface Workload {
  readonly title: string;
  readonly subjects: readonly Subject[];
  /** What the service and bare node must answer alike, byte by byte. */
  readonly equivalentRequests: readonly BenchRequest[];
}

type Plan = (context: WorkloadContext) => Promise<Workload>;

const get =
  (path: string) =>
  (customer: Customer): BenchRequest => ({ path, token: customer.token });

/** For each connection at least one, and for each user as many. */
function repeatForConnections(
  requests: readonly BenchRequest[],
  { connections }: Instruments,
): BenchRequest[] {
  const times = Math.ceil((2 * connections) / requests.length);
  return Array.from({ length: times }, () => requests).flat();
}

/** A read, beside bare node. */
function reading(
  path: string,
  who: (customerPool: CustomerPool) => Promise<readonly Customer[]>,
  { besideHealth = false } = {},
): Plan {
  return async ({ customerPool, service, bare, instruments }) => {
    const requests = (await who(customerPool)).map(get(path));
    const sent = repeatForConnections(requests, instruments);
    const health = [{ path: '/health', token: null }];
    return {
      title: `GET ${path}`,
      equivalentRequests: requests,
      subjects: [
        httpSubject(SERVICE, service, sent, instruments),
        ...(bare ? [httpSubject(BARE_NODE, bare, sent, instruments)] : []),
        ...(besideHealth
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

const listing = (proxies: number): Plan => {
  const plan = reading('/proxies', (customerPool) => customerPool.readersWith(proxies));
  return async (context) => ({ ...(await plan(context)), title: `GET /proxies, ${proxies}` });
};

/** One download after the other, beside psql writing out the same rows. */
const exporting =
  (format: 'json' | 'txt', proxies = LARGEST_EXPORT): Plan =>
  async ({ fixture, customerPool, service, bare, instruments, psql }) => {
    const [reader] = await customerPool.readersWith(proxies);
    if (!reader) throw new Error('nobody has so many proxies');
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

/** Purchases, beside the database with the same statements and with the same work in ordinary steps. */
const buying =
  (count: number, users: 'many' | 'one'): Plan =>
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
          ordinary: baselinePurchase,
          count,
          buyer: buyers[0] as Customer,
          request: purchase(buyers[0]?.token ?? '', count),
          proxyId: null,
          variables: { first: buyers[0]?.id ?? 0, last: buyers.at(-1)?.id ?? 0 },
        })),
      ],
    };
  };

const prolonging: Plan = async (context) => {
  const { customerPool, service, instruments, fixture } = context;
  const bought = await customerPool.boughtProxies(service.baseUrl);
  const requests = bought.map(({ customer, proxyId }) => prolongation(customer.token, proxyId));
  const { first, count } = await customerPool.proxiesToProlong();
  // Each client has proxies of its own, and takes them in turn: an order is closed long before its proxy comes again.
  const { connections } = instruments;
  const choose =
    `\\set turn (:turn + 1) % ${Math.floor(count / connections)}\n` +
    `\\set proxy :first + :client_id + ${connections} * :turn\n` +
    'SELECT user_id AS user FROM proxies WHERE id = :proxy\n\\gset';
  const [one] = bought.slice(-1);
  if (!one) throw new Error('nothing was bought');
  await fixture.query('ANALYZE');
  return {
    title: 'POST /proxies/{id}/prolong',
    equivalentRequests: [],
    subjects: [
      httpSubject(SERVICE, service, requests, instruments),
      ...(await databaseSubjects(context, {
        choose,
        ordinary: baselineProlongation,
        count: 1,
        buyer: one.customer,
        request: prolongation(one.customer.token, one.proxyId),
        proxyId: Number(one.proxyId),
        variables: { first, turn: 0 },
      })),
    ],
  };
};

interface OrderPlan {
  readonly choose: string;
  readonly ordinary: typeof baselinePurchase;
  readonly count: number;
  readonly buyer: Customer;
  readonly request: BenchRequest;
  readonly proxyId: number | null;
  readonly variables: Readonly<Record<string, number>>;
}

async function databaseSubjects(context: WorkloadContext, plan: OrderPlan): Promise<Subject[]> {
  const { pgbench, fixture, instruments } = context;
  if (pgbench === null) return [];
  const databaseUrl = fixture.environment.DATABASE_URL;
  const tokenHash = createHash('sha256').update(plan.buyer.token).digest('hex');
  const make = (name: string, script: string): Subject =>
    pgbenchSubject(name, { program: pgbench, databaseUrl, script }, plan.variables, instruments);
  const ordinary = plan.ordinary({ count: plan.count, unitPrice: UNIT_PRICE, tokenHash }, plan.choose);
  return [make(SAME_STATEMENTS, await recordScript(context, plan)), make(THREE_TRANSACTIONS, ordinary)];
}

/** Has a service in this process carry out the order once, and makes a script of what it said to the database. */
async function recordScript(
  { recordingEnvironment, fixture }: WorkloadContext,
  { buyer, request, proxyId, choose }: OrderPlan,
): Promise<string> {
  return withStatementRecorder(recordingEnvironment, async ({ baseUrl, record }) => {
    // The first one fetches what the others have.
    await placeOrder(baseUrl, request);
    const { result, statements } = await record(() => placeOrder(baseUrl, request));
    const bought = await fixture.query<{ id: string }>(
      'SELECT provider_proxy_id AS id FROM proxies WHERE order_id = $1 ORDER BY id',
      [result.order_id],
    );
    const own: RecordedOrder = {
      orderId: result.order_id,
      userId: buyer.id,
      proxyId,
      providerProxyIds: bought.map(({ id }) => id),
    };
    return toPgbenchScript(statements, own, choose);
  });
}

/** Of a thousand requests on an ordinary day. */
const DAY: readonly (readonly [share: number, what: keyof typeof MIX])[] = [
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

const MIX = {
  few: (context: WorkloadContext) => readersAsking(context, 10, '/proxies'),
  many: (context: WorkloadContext) => readersAsking(context, 100, '/proxies'),
  me: (context: WorkloadContext) => readersAsking(context, 10, '/me'),
  price: (context: WorkloadContext) => readersAsking(context, 10, PRICE),
  countries: (context: WorkloadContext) => readersAsking(context, 10, COUNTRIES),
  count: (context: WorkloadContext) => readersAsking(context, 10, '/countries/ru/count'),
  export: (context: WorkloadContext) => readersAsking(context, 10, '/proxies/export?format=txt'),
  buy: async ({ customerPool }: WorkloadContext) =>
    (await customerPool.buyers()).map(({ token }) => purchase(token, 1)),
  prolong: async ({ customerPool, service }: WorkloadContext) =>
    (await customerPool.boughtProxies(service.baseUrl)).map(({ customer, proxyId }) =>
      prolongation(customer.token, proxyId),
    ),
} satisfies Record<string, (context: WorkloadContext) => Promise<BenchRequest[]>>;

async function readersAsking(
  { customerPool }: WorkloadContext,
  proxies: number,
  path: string,
): Promise<BenchRequest[]> {
  return (await customerPool.readersWith(proxies)).map(get(path));
}

/** So many that a proxy's prolongation is over long before its next. */
const DAYS = 10;

/** Some days' requests, shuffled, the same way each time. */
export async function dailyMixRequests(context: WorkloadContext): Promise<BenchRequest[]> {
  const requests: BenchRequest[] = [];
  for (const [share, what] of DAY) {
    const some = await MIX[what](context);
    for (let n = 0; n < DAYS * share; n += 1) requests.push(some[n % some.length] as BenchRequest);
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

const mixing: Plan = async (context) => ({
  title: "a day's mix",
  equivalentRequests: [],
  subjects: [httpSubject(SERVICE, context.service, await dailyMixRequests(context), context.instruments)],
});

const small = (customerPool: CustomerPool): Promise<readonly Customer[]> => customerPool.readersWith(10);

/** By the names that `--only` takes. */
export const WORKLOADS = {
  me: reading('/me', small),
  countries: reading(COUNTRIES, small, { besideHealth: true }),
  price: reading(PRICE, small, { besideHealth: true }),
  'proxies-10': listing(10),
  'proxies-100': listing(100),
  'proxies-1000': listing(1000),
  'export-json': exporting('json'),
  'export-txt': exporting('txt'),
  prolong: prolonging,
  'buy-1': buying(1, 'many'),
  'buy-1-busy': buying(1, 'one'),
  'buy-100': buying(100, 'many'),
  'buy-100-busy': buying(100, 'one'),
  mix: mixing,
} satisfies Record<string, Plan>;

export type WorkloadName = keyof typeof WORKLOADS;

export const isWorkloadName = (name: string): name is WorkloadName => Object.hasOwn(WORKLOADS, name);
