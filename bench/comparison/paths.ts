import { createHash } from 'node:crypto';
import type { Customer } from '../support/load';
import type { Stage, StageEnvironment } from '../support/stage';
import { order, prolongation, purchase } from './ask';
import type { Cast } from './cast';
import {
  BARE,
  type Contestant,
  copyContestant,
  HEALTH,
  httpContestant,
  type Instruments,
  ORDINARY,
  pgbenchContestant,
  type RequestText,
  type Server,
  SERVICE,
  STATEMENTS,
} from './contestants';
import { ordinaryProlongation, ordinaryPurchase } from './ordinary-steps';
import { type RecordedOrder, toPgbenchScript } from './pgbench-script';
import { withRecordedService } from './recording';

export const LARGEST_EXPORT = 100_000;
/** What the sandbox asks for 30 days, with the markup as it comes. */
const UNIT_PRICE = '25.08';
const SHOWN_COLUMNS =
  'id, host, port, login, password, proxy_type, country, version, date_start, date_end, active, descr';

/** What the paths are played with. */
export interface Kit {
  readonly stage: Stage;
  readonly cast: Cast;
  readonly service: Server;
  /** Null: the service is measured by itself. */
  readonly bare: Server | null;
  readonly instruments: Instruments;
  /** Null when this machine has none. */
  readonly pgbench: string | null;
  readonly psql: string | null;
  /** Of a service whose statements are recorded. */
  readonly recordedEnvironment: StageEnvironment;
}

export interface PathPlan {
  readonly title: string;
  readonly contestants: readonly Contestant[];
  /** What the service and bare node must answer alike, byte by byte. */
  readonly alike: readonly RequestText[];
}

type Plan = (kit: Kit) => Promise<PathPlan>;

const get =
  (path: string) =>
  (customer: Customer): RequestText => ({ path, token: customer.token });

/** For each connection at least one, and for each user as many. */
function often(requests: readonly RequestText[], { connections }: Instruments): RequestText[] {
  const times = Math.ceil((2 * connections) / requests.length);
  return Array.from({ length: times }, () => requests).flat();
}

/** A read, beside bare node. */
function reading(
  path: string,
  who: (cast: Cast) => Promise<readonly Customer[]>,
  { besideHealth = false } = {},
): Plan {
  return async ({ cast, service, bare, instruments }) => {
    const requests = (await who(cast)).map(get(path));
    const sent = often(requests, instruments);
    const health = [{ path: '/health', token: null }];
    return {
      title: `GET ${path}`,
      alike: requests,
      contestants: [
        httpContestant(SERVICE, service, sent, instruments),
        ...(bare ? [httpContestant(BARE, bare, sent, instruments)] : []),
        ...(besideHealth
          ? [httpContestant(HEALTH, service, often(health, instruments), instruments, { atRates: false })]
          : []),
      ],
    };
  };
}

const listing = (proxies: number): Plan => {
  const plan = reading('/proxies', (cast) => cast.readersWith(proxies));
  return async (kit) => ({ ...(await plan(kit)), title: `GET /proxies, ${proxies}` });
};

/** One download after the other, beside psql writing out the same rows. */
const exporting =
  (format: 'json' | 'txt', proxies = LARGEST_EXPORT): Plan =>
  async ({ stage, cast, service, bare, instruments, psql }) => {
    const [reader] = await cast.readersWith(proxies);
    if (!reader) throw new Error('nobody has so many proxies');
    const requests = [get(`/proxies/export?format=${format}`)(reader)];
    const columns = format === 'json' ? SHOWN_COLUMNS : 'host, port, login, password';
    const rows = `SELECT ${columns} FROM proxies WHERE user_id = ${reader.id} ORDER BY id`;
    const databaseUrl = stage.environment.DATABASE_URL;
    const alone = { connections: 1 };
    return {
      title: `GET /proxies/export, ${format}, ${proxies}`,
      alike: requests,
      contestants: [
        httpContestant(SERVICE, service, requests, instruments, alone),
        ...(bare ? [httpContestant(BARE, bare, requests, instruments, alone)] : []),
        ...(psql === null ? [] : [copyContestant({ program: psql, databaseUrl, rows }, instruments)]),
      ],
    };
  };

/** Purchases, beside the database with the same statements and with the same work in ordinary steps. */
const buying =
  (count: number, users: 'many' | 'one'): Plan =>
  async (kit) => {
    const { cast, service, instruments } = kit;
    const buyers = users === 'many' ? await cast.buyers() : [await cast.busyBuyer()];
    const requests = buyers.map(({ token }) => purchase(token, count));
    const choose = '\\set user random(:first, :last)';
    return {
      title: `POST /proxies/buy, ${count}, ${users === 'many' ? 'many users' : 'one busy user'}`,
      alike: [],
      contestants: [
        httpContestant(SERVICE, service, often(requests, instruments), instruments),
        ...(await databaseContestants(kit, {
          choose,
          ordinary: ordinaryPurchase,
          count,
          buyer: buyers[0] as Customer,
          request: purchase(buyers[0]?.token ?? '', count),
          proxyId: null,
          variables: { first: buyers[0]?.id ?? 0, last: buyers.at(-1)?.id ?? 0 },
        })),
      ],
    };
  };

const prolonging: Plan = async (kit) => {
  const { cast, service, instruments, stage } = kit;
  const bought = await cast.boughtProxies(service.baseUrl);
  const requests = bought.map(({ customer, proxyId }) => prolongation(customer.token, proxyId));
  const { first, count } = await cast.proxiesToProlong();
  // Each client has proxies of its own, and takes them in turn: an order is closed long before its proxy comes again.
  const { connections } = instruments;
  const choose =
    `\\set turn (:turn + 1) % ${Math.floor(count / connections)}\n` +
    `\\set proxy :first + :client_id + ${connections} * :turn\n` +
    'SELECT user_id AS user FROM proxies WHERE id = :proxy\n\\gset';
  const [one] = bought.slice(-1);
  if (!one) throw new Error('nothing was bought');
  await stage.query('ANALYZE');
  return {
    title: 'POST /proxies/{id}/prolong',
    alike: [],
    contestants: [
      httpContestant(SERVICE, service, requests, instruments),
      ...(await databaseContestants(kit, {
        choose,
        ordinary: ordinaryProlongation,
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
  readonly ordinary: typeof ordinaryPurchase;
  readonly count: number;
  readonly buyer: Customer;
  readonly request: RequestText;
  readonly proxyId: number | null;
  readonly variables: Readonly<Record<string, number>>;
}

async function databaseContestants(kit: Kit, plan: OrderPlan): Promise<Contestant[]> {
  const { pgbench, stage, instruments } = kit;
  if (pgbench === null) return [];
  const databaseUrl = stage.environment.DATABASE_URL;
  const tokenHash = createHash('sha256').update(plan.buyer.token).digest('hex');
  const make = (name: string, script: string): Contestant =>
    pgbenchContestant(name, { program: pgbench, databaseUrl, script }, plan.variables, instruments);
  const ordinary = plan.ordinary({ count: plan.count, unitPrice: UNIT_PRICE, tokenHash }, plan.choose);
  return [make(STATEMENTS, await recordScript(kit, plan)), make(ORDINARY, ordinary)];
}

/** Has a service in this process carry out the order once, and makes a script of what it said to the database. */
async function recordScript(
  { recordedEnvironment, stage }: Kit,
  { buyer, request, proxyId, choose }: OrderPlan,
): Promise<string> {
  return withRecordedService(recordedEnvironment, async ({ baseUrl, record }) => {
    // The first one fetches what the others have.
    await order(baseUrl, request);
    const { result, statements } = await record(() => order(baseUrl, request));
    const bought = await stage.query<{ id: string }>(
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
  few: (kit: Kit) => readersAsking(kit, 10, '/proxies'),
  many: (kit: Kit) => readersAsking(kit, 100, '/proxies'),
  me: (kit: Kit) => readersAsking(kit, 10, '/me'),
  price: (kit: Kit) => readersAsking(kit, 10, PRICE),
  countries: (kit: Kit) => readersAsking(kit, 10, COUNTRIES),
  count: (kit: Kit) => readersAsking(kit, 10, '/countries/ru/count'),
  export: (kit: Kit) => readersAsking(kit, 10, '/proxies/export?format=txt'),
  buy: async ({ cast }: Kit) => (await cast.buyers()).map(({ token }) => purchase(token, 1)),
  prolong: async ({ cast, service }: Kit) =>
    (await cast.boughtProxies(service.baseUrl)).map(({ customer, proxyId }) =>
      prolongation(customer.token, proxyId),
    ),
} satisfies Record<string, (kit: Kit) => Promise<RequestText[]>>;

async function readersAsking({ cast }: Kit, proxies: number, path: string): Promise<RequestText[]> {
  return (await cast.readersWith(proxies)).map(get(path));
}

/** So many that a proxy's prolongation is over long before its next. */
const DAYS = 10;

/** Some days' requests, shuffled, the same way each time. */
export async function dayRequests(kit: Kit): Promise<RequestText[]> {
  const requests: RequestText[] = [];
  for (const [share, what] of DAY) {
    const some = await MIX[what](kit);
    for (let n = 0; n < DAYS * share; n += 1) requests.push(some[n % some.length] as RequestText);
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

const mixing: Plan = async (kit) => ({
  title: "a day's mix",
  alike: [],
  contestants: [httpContestant(SERVICE, kit.service, await dayRequests(kit), kit.instruments)],
});

const small = (cast: Cast): Promise<readonly Customer[]> => cast.readersWith(10);

/** By the names that `--only` takes. */
export const PATHS = {
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

export type PathName = keyof typeof PATHS;

export const isPathName = (name: string): name is PathName => Object.hasOwn(PATHS, name);
