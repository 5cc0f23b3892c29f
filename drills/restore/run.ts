import { setTimeout as pause } from 'node:timers/promises';
import type { StateView } from '../../src/sandbox';
import { closeAll, createDrillDirectory } from '../support/accounts';
import { Clients, type CompletedRequest, type Customer } from '../support/clients';
import { startSandboxProcess } from '../support/service';
import { until } from '../support/until';
import { ArchivedCluster } from './archived-cluster';
import { ArchivedPostgres, type RestorableDatabase } from './archived-postgres';
import type { MadeBackup } from './pgbackrest';
import { Shop } from './shop';
import { decide, type Decided } from './staff';

const REASON = 'drill: the disk is lost';

const ALLOWED = /^(200|200, replayed|404|connection lost|(503|409) with Retry-After: .*)$/;

export interface RestoreOptions {
  readonly patroni?: boolean;
  readonly replicas: number;
  readonly customers: number;
  readonly pauseMs: number;
  readonly secondsBetween: number;
  /** From the restored moment to the destruction. */
  readonly secondsLost: number;
  /** After this time, a part of the log is archived even if it is not full. */
  readonly archiveTimeoutSeconds: number;
  readonly onProgress?: (line: string) => void;
}

export interface RestoreReport {
  readonly backups: Readonly<Record<string, MadeBackup>>;
  readonly restoreSeconds: number;
  readonly replaySeconds: number;
  readonly secondsUntil: Readonly<Record<'read' | 'ordered', number>>;
  readonly secondsLost: number;
  /** From the end of the newest archived part of the log to the destruction. */
  readonly secondsNotArchived: number;
  readonly orders: Readonly<Record<'confirmed' | 'lost' | 'afterwards', number>>;
  readonly soldSince: { readonly proxies: number; readonly prolongations: number };
  readonly decided: Decided;
  readonly responses: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

export async function runRestore(options: RestoreOptions): Promise<RestoreReport> {
  const { onProgress = () => undefined } = options;
  const closers: (() => Promise<unknown>)[] = [];
  try {
    onProgress('starts PostgreSQL, with pgBackRest behind it');
    const kind = options.patroni ? ArchivedCluster : ArchivedPostgres;
    const postgres = await kind.start(options.archiveTimeoutSeconds);
    closers.push(() => postgres.close());
    const directory = await createDrillDirectory('restore-sandbox');
    closers.push(() => directory.remove());
    const sandbox = await startSandboxProcess(await directory.create('sandbox'));
    closers.push(() => sandbox.stop());
    const shop = await Shop.open(postgres, sandbox.address, options.replicas);
    closers.push(() => shop.stop());
    const customers = await shop.createCustomers(options.customers);
    await shop.start();
    const clients = new Clients(customers, shop.baseUrls, options);
    closers.push(async () => clients.abandon());
    return await sellAndRestore(shop, postgres, clients, customers, options);
  } finally {
    await closeAll(closers);
  }
}

async function sellAndRestore(
  shop: Shop,
  postgres: RestorableDatabase,
  clients: Clients,
  customers: readonly Customer[],
  { onProgress = () => undefined, ...options }: RestoreOptions,
): Promise<RestoreReport> {
  clients.start();

  onProgress('customers buy; full backup');
  await pause(options.secondsBetween * 1000);
  const full = await postgres.backUp('full');
  onProgress('customers buy; differential backup');
  await pause(options.secondsBetween * 1000);
  const differential = await postgres.backUp('diff');
  await pause(options.secondsBetween * 1000);

  const target = await shop.now();
  onProgress(`customers buy on for ${options.secondsLost} s, from ${target.toISOString()} on`);
  const untilMs = Date.now() + options.secondsLost * 1000;
  const known = clients.countCompleted(target);
  await until('an order after the restored moment', () => clients.countCompleted(target) > known);
  const part = await shop.currentLog();
  await pause(untilMs - Date.now());
  await until('the log of the restored moment in the archive', () => shop.hasArchived(part), {
    timeoutMs: 180_000,
  });

  onProgress('kill -9 of PostgreSQL, and its data is removed');
  const lastArchivedAt = await shop.lastArchivedAt();
  const destroyedAtMs = Date.now();
  await postgres.destroy();
  await shop.stop();

  const restored = await postgres.restore(target);
  onProgress(`restored in ${restored.seconds.toFixed(1)} s; PostgreSQL replays its log`);
  const replayed = await postgres.startServer();
  await shop.migrate();
  await shop.cli('maintenance', 'begin', '--reason', REASON);
  const remembered = await shop.readOrderKeys();
  await shop.start();
  const problems = await findOpenings(shop, clients, customers);
  const readAtMs = Date.now();

  // Clients do not learn that the database forgot their orders, and retry them too.
  const forgotten = clients.completed.filter(
    ({ intent, response }) =>
      response.status === 200 && !remembered.has(`${intent.customer.id} ${intent.key}`),
  );
  onProgress(
    `${forgotten.length} orders with a response are gone; the service looks for them at the provider`,
  );
  const canceled = new Set(await shop.untilEverythingIsFound(REASON));
  const completed = clients.completed.filter(
    (request) => forgotten.includes(request) || canceled.has(Number(request.response.body['order_id'])),
  );
  const decided = await decide(shop, { completed, open: [...clients.open] }, unitPriceOf(clients), REASON);
  await shop.asStaff('POST', '/maintenance/end', { reason: REASON });
  const openedAt = new Date();
  onProgress(`orders are open again, ${((openedAt.getTime() - destroyedAtMs) / 1000).toFixed(1)} s after`);
  const retried = await retryAll(clients, forgotten);
  await until('orders that return again', () => clients.countCompleted(openedAt) >= options.customers);
  await clients.stop();
  await shop.untilSettled();

  await postgres.backUp('full');
  const book = await shop.control.getState();
  const since = (atMs: number): boolean => atMs > target.getTime() && atMs < destroyedAtMs;
  return {
    backups: { full, differential },
    restoreSeconds: restored.seconds,
    replaySeconds: replayed.seconds,
    secondsUntil: {
      read: (readAtMs - destroyedAtMs) / 1000,
      ordered: (openedAt.getTime() - destroyedAtMs) / 1000,
    },
    secondsLost: (destroyedAtMs - target.getTime()) / 1000,
    secondsNotArchived: (destroyedAtMs - lastArchivedAt.getTime()) / 1000,
    orders: {
      confirmed: clients.completed.filter(({ response }) => response.status === 200).length,
      lost: forgotten.length,
      afterwards: clients.countCompleted(openedAt),
    },
    soldSince: {
      proxies: book.sales.filter(({ atMs }) => since(atMs)).flatMap(({ proxyIds }) => proxyIds).length,
      prolongations: book.prolongations.filter(({ atMs }) => since(atMs)).length,
    },
    decided,
    responses: clients.counts,
    violations: [
      ...problems,
      ...(await shop.findViolations()),
      ...findDoubles(clients, retried, book),
      ...findUnnamed(clients, retried, book, await shop.readLogins()),
      ...Object.entries(clients.counts)
        .filter(([response]) => !ALLOWED.test(response))
        .map(([response, times]) => `${times} times a client got ${response}`),
    ],
  };
}

async function retryAll(clients: Clients, orders: readonly CompletedRequest[]): Promise<CompletedRequest[]> {
  const customers = new Set(orders.map(({ intent }) => intent.customer));
  const retries = [...customers].map(async (customer) => {
    const own: CompletedRequest[] = [];
    for (const { intent } of orders) {
      if (intent.customer === customer) own.push({ intent, response: await clients.retry(intent) });
    }
    return own;
  });
  return (await Promise.all(retries)).flat();
}

async function findOpenings(shop: Shop, clients: Clients, customers: readonly Customer[]): Promise<string[]> {
  const problems: string[] = [];
  for (const [at, customer] of customers.entries()) {
    const profile = await fetch(`${shop.baseUrls[0]}/me`, {
      headers: { Authorization: `Bearer ${customer.token}` },
    });
    await profile.arrayBuffer();
    if (profile.status !== 200) problems.push(`GET /me returns ${profile.status} during maintenance`);
    const { response } = await clients.send({
      customer,
      key: `too-early-${at}`,
      path: '/proxies/buy',
      body: { country: 'ru', period: 30 },
    });
    if (response) problems.push(`an order returned ${response.status} during maintenance`);
  }
  return problems;
}

/**
 * Includes responses to retries and to orders that the database forgot. No id may name things of two
 * customers.
 */
function findDoubles(clients: Clients, replayed: readonly CompletedRequest[], book: StateView): string[] {
  let wanted = 0;
  // These proxies lost their ids: earlier prolongations may have been executed.
  let unknown = 0;
  for (const { intent, response } of clients.completed) {
    if (intent.path === '/proxies/buy') continue;
    if (response.status === 200) wanted += 1;
    else unknown += 1;
  }
  const prolonged = book.prolongations.flatMap(({ proxies }) => proxies).length;
  const tags = book.sales.map(({ descr }) => descr);
  const owners = new Map<string, Customer>();
  const named = [...clients.completed, ...replayed].flatMap(
    ({ intent: { customer }, response: { body } }) => {
      const { order_id: orderId, proxies = [] } = body as {
        order_id?: number;
        proxies?: readonly { id: string }[];
      };
      const names = proxies.map(({ id }) => `proxy ${id}`);
      if (orderId !== undefined) names.push(`order ${orderId}`);
      return names.filter((name) => {
        const owner = owners.get(name) ?? customer;
        owners.set(name, owner);
        return owner !== customer;
      });
    },
  );
  return [
    ...(prolonged < wanted || prolonged > wanted + unknown
      ? [`clients wanted ${wanted} prolongations, and the provider sold ${prolonged}`]
      : []),
    ...tags
      .filter((orderReference, at) => tags.indexOf(orderReference) !== at)
      .map((orderReference) => `${orderReference} was sold twice`),
    ...named.map((name) => `${name} names things of two customers`),
  ];
}

/**
 * Finds sold proxies that no response names, and retries that bought again. Another request for the same may
 * get the proxies of the first one.
 *
 * @param logins by current ids; unlike ids, they survive a restore
 */
function findUnnamed(
  clients: Clients,
  replayed: readonly CompletedRequest[],
  book: StateView,
  logins: ReadonlyMap<string, string>,
): string[] {
  const loginsOf = (request: CompletedRequest) =>
    boughtOf(request).map(({ id, login }) => login || logins.get(id));
  const times = new Map<string | undefined, number>();
  for (const request of [...clients.completed, ...replayed]) {
    for (const login of loginsOf(request)) times.set(login, (times.get(login) ?? 0) + 1);
  }
  const sold = book.sales.flatMap(({ proxyIds }) => proxyIds).length;
  const first = new Map(clients.completed.map((request) => [request.intent, request]));
  const twice = replayed.filter(({ intent }) => {
    const before = first.get(intent);
    return before && loginsOf(before).some((login) => times.get(login) === 1);
  });
  return [
    ...(sold === times.size ? [] : [`responses name ${times.size} proxies, and the provider sold ${sold}`]),
    ...twice.map(({ intent: { key } }) => `the order of key ${key} was bought twice`),
  ];
}

function boughtOf({ intent, response }: CompletedRequest): readonly { id: string; login: string }[] {
  if (intent.path !== '/proxies/buy' || response.status !== 200) return [];
  return response.body['proxies'] as { id: string; login: string }[];
}

/** All customers of this drill pay the same price. */
function unitPriceOf({ completed }: Clients): string {
  for (const { intent, response } of completed) {
    const { price_charged: charged } = response.body as { price_charged?: string };
    if (charged !== undefined && intent.body.count === 1) return charged;
  }
  throw new Error('nobody has bought a single proxy');
}
