import { setTimeout as pause } from 'node:timers/promises';
import { compareResponses, compareWithBook } from '../../drills/support/books';
import { ALL_PAYMENT_SCOPES, ALL_SCOPES } from '../../src/auth';
import { DEFAULT_DIALECT, type FaultSpec, type PaymentsSandbox } from '../../src/sandbox';
import { type BuiltService, eventually } from './built-service';
import type { OwnPostgres } from './own-postgres';
import { type Customer, type Order, Replicas, send, type ServiceResponse } from './replicas';
import { SeededRandom } from './seeded-random';
import { SoakDeposits } from './soak-deposits';
import { compareReaders, EventReader, SoakWebhooks, untilPublished } from './soak-events';
import { SoakRenewals } from './soak-renewals';
import type { WebhookReceiver } from './webhook-receiver';

const PROVIDER_FAULTS: readonly FaultSpec[] = (['buy', 'prolong'] as const).flatMap((method): FaultSpec[] => [
  { method, kind: 'response-lost', probability: 0.006 },
  { method, kind: 'response-lost', hiddenForMs: 700, probability: 0.004 },
  { method, kind: 'reset', probability: 0.004 },
  { method, kind: 'reset', effect: true, probability: 0.004 },
  { method, kind: 'hang', probability: 0.002 },
  { method, kind: 'hang', effect: false, probability: 0.002 },
  { method, kind: 'late', beforeMs: 700, probability: 0.003 },
  { method, kind: 'late', afterMs: 700, probability: 0.003 },
  { method, kind: 'http-status', status: 502, probability: 0.004 },
  { method, kind: 'http-status', status: 503, effect: true, probability: 0.004 },
  { method, kind: 'http-status', status: 429, probability: 0.006 },
  { method, kind: 'error', errorId: 30, probability: 0.004 },
  { method, kind: 'error', errorId: 30, effect: true, probability: 0.004 },
  { method, kind: 'error', errorId: 300, probability: 0.006 },
  { method, kind: 'error', errorId: 400, probability: 0.006 },
  { method, kind: 'html', probability: 0.003 },
  { method, kind: 'html', effect: true, probability: 0.003 },
  { method, kind: 'truncated-json', probability: 0.004 },
  { method, kind: 'truncated-json', disconnect: true, probability: 0.004 },
  { method, kind: 'drip', bytes: 8, intervalMs: 40, probability: 0.002 },
  { method, kind: 'wrong-currency', probability: 0.002 },
]);

const LISTING_FAULTS: readonly FaultSpec[] = [
  { method: 'buy', kind: 'short-list', probability: 0.006 },
  { method: 'buy', kind: 'late-listing', hiddenForMs: 700, probability: 0.01 },
  { method: 'getproxy', kind: 'http-status', status: 500, probability: 0.04 },
  { method: 'getproxy', kind: 'truncated-json', probability: 0.02 },
  { method: 'getproxy', kind: 'error', errorId: 100, probability: 0.02 },
  { method: 'getproxy', kind: 'hang', probability: 0.005 },
];

const CLIENTS = 24;
const CUSTOMERS = 12;

export interface SoakReport {
  readonly seed: number;
  readonly orders: number;
  readonly seconds: number;
  readonly responses: Readonly<Record<string, number>>;
  readonly requests: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly unmatched: number;
  readonly batched: number;
  readonly eventsRead: number;
  readonly failedReads: number;
  /** Including retries. */
  readonly webhookRequests: number;
  readonly deposits: number;
  readonly renewed: number;
  readonly notRenewed: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

class Tally {
  readonly counts: Record<string, number> = {};

  add(name: string, times = 1): void {
    if (times > 0) this.counts[name] = (this.counts[name] ?? 0) + times;
  }
}

/**
 * Clients place orders at two replicas and retry them while processes, connections, the database and the
 * provider fail at random. In the end the books are compared with the sandbox's, and the responses with the
 * books.
 */
export async function soak(
  replicas: Replicas,
  postgres: OwnPostgres,
  receiver: WebhookReceiver,
  payments: PaymentsSandbox,
  { orders, seed }: { orders: number; seed: number },
): Promise<SoakReport> {
  const random = new SeededRandom(seed);
  const startedAt = performance.now();
  const faults = new Tally();
  const requests = new Tally();
  const statuses = new Tally();
  const responses: { order: Order; response: ServiceResponse }[] = [];
  /** Sent once, without a key. Null if the connection was lost. */
  const withoutKey: { requestId: string; response: ServiceResponse | null }[] = [];
  const services: [BuiltService, BuiltService] = await Promise.all([
    replicas.start({ throughRelay: true }),
    replicas.start(),
  ]);
  const customers = await Promise.all(
    Array.from({ length: CUSTOMERS }, (_, at) =>
      replicas.createCustomer(at === 0 ? '300.00' : '1000000.00', [...ALL_SCOPES, ...ALL_PAYMENT_SCOPES]),
    ),
  );
  for (const country of ['ru', 'us', 'de', 'nl']) await replicas.control.setStock('6', country, 1_000_000);
  for (const fault of [...PROVIDER_FAULTS, ...LISTING_FAULTS]) {
    await replicas.control.addFault({ ...fault, times: null, seed: random.integer(1, 2 ** 31) });
  }

  const readers = customers.map((customer, at) => {
    const own = new SeededRandom(seed + 1 + CLIENTS + at);
    return new EventReader(customer, () => own.pick(services).baseUrl, own);
  });
  const webhooks = await SoakWebhooks.open(
    services[0].baseUrl,
    receiver,
    customers
      .filter((_, at) => at % 3 === 0)
      .map((customer, at) => [customer, at % 2 === 0 ? null : ['order.completed', 'balance.credited']]),
    new SeededRandom(seed + 1 + CLIENTS + CUSTOMERS),
  );
  const renewals = await SoakRenewals.switchOn(
    replicas,
    services[0].baseUrl,
    customers.filter((_, at) => at % 3 > 0),
  );
  const deposits = new SoakDeposits(payments, (own) => own.pick(services));
  const readersDone = new AbortController();
  const reading = readers.map((reader) => reader.follow(readersDone.signal));
  let left = orders;
  const client = async (number: number): Promise<void> => {
    const own = new SeededRandom(seed + 1 + number);
    const proxyIds = new Map<Customer, string[]>();
    while (left > 0) {
      left -= 1;
      const customer = customers[own.integer(0, CUSTOMERS - 1)];
      if (!customer) continue;
      if (own.chance(0.1) || left === 0) {
        await deposits.make(customer, `deposit-${number}-${left}`, own, retry);
        continue;
      }
      const owned = proxyIds.get(customer) ?? [];
      const proxyId = own.chance(0.3) ? owned[own.integer(0, owned.length - 1)] : undefined;
      const order = {
        customer,
        key: `${number}-${left}`,
        ...(proxyId === undefined
          ? {
              path: '/proxies/buy',
              body: {
                country: own.pick(['ru', 'us', 'de', 'nl']),
                period: own.pick([3, 7, 30]),
                count: own.integer(1, 4),
              },
            }
          : { path: `/proxies/${proxyId}/prolong`, body: { period: own.pick([3, 7, 30]) } }),
      };
      if (own.chance(0.1)) {
        const { key: requestId, ...keyless } = order;
        const only = await send(own.pick(services).baseUrl, { ...keyless, requestId }).catch(() => null);
        requests.add(only ? String(only.status) : 'connection lost');
        withoutKey.push({ requestId, response: only });
        continue;
      }
      const response = await retry(order, own);
      responses.push({ order, response });
      statuses.add(String(response.status));
      const bought = (response.body['proxies'] ?? []) as { id: string }[];
      proxyIds.set(customer, [...owned, ...bought.map(({ id }) => id)]);
    }
  };

  /** Retries at either replica until the response is final, and sometimes hangs up. */
  const retry = async (order: Order, own: SeededRandom): Promise<ServiceResponse> => {
    for (;;) {
      const signal = own.chance(0.02) ? AbortSignal.timeout(own.integer(1, 60)) : undefined;
      const response = await send(own.pick(services).baseUrl, order, signal).catch(() => null);
      requests.add(response ? String(response.status) : 'connection lost');
      if (response && response.status !== 409 && response.status !== 429 && response.status < 500) {
        return response;
      }
      await pause(own.integer(20, 200));
    }
  };

  const misfortunes = {
    'kill -9 of a replica': async (at: 0 | 1) => {
      services[at].kill('SIGKILL');
      await services[at].ended();
      services[at] = await startAgain(at);
    },
    'SIGSTOP of a replica': async (at: 0 | 1) => {
      services[at].kill('SIGSTOP');
      await pause(random.integer(100, 1500));
      services[at].kill('SIGCONT');
    },
    'connections to the database cut': async () => replicas.relay.cutAll(),
    'connections cut while statements wait for a lock': async () => {
      const lock = await replicas.lockTable(random.pick(['orders', 'accounts']), 'EXCLUSIVE');
      await pause(random.integer(20, 300));
      replicas.relay.cutAll();
      await pause(random.integer(20, 300));
      await lock.release();
    },
    'database ended at once': () => postgres.restartImmediately(),
    'another dialect of listings': () =>
      replicas.control.setDialect({
        descrFilter: random.pick(['exact', 'prefix', 'substring', 'ignored'] as const),
        pageLimit: random.pick([1000, 100, 25]),
        pageOrder: random.pick(['sorted', 'unsorted', 'moving'] as const),
      }),
  } as const;

  /** The database may be down at the start. */
  const startAgain = (at: 0 | 1): Promise<BuiltService> =>
    eventually(() => replicas.start({ throughRelay: at === 0 }).catch(() => null));

  const clientsDone = new AbortController();
  /** One fault of each kind per round, for at least one round. */
  const trouble = async (): Promise<void> => {
    do {
      for (const name of random.shuffle(Object.keys(misfortunes) as (keyof typeof misfortunes)[])) {
        await pause(random.integer(300, 1200));
        faults.add(name);
        await misfortunes[name](random.pick([0, 1]));
      }
    } while (!clientsDone.signal.aborted);
  };

  const troubled = trouble();
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
  clientsDone.abort();
  await troubled;
  for (const { kind, method, effect, hits } of await replicas.control.getFaults()) {
    faults.add(`${method}: ${kind}${effect ? '' : ', nothing done'}`, hits);
  }
  await replicas.control.resetFaults();
  await replicas.control.setDialect(DEFAULT_DIALECT);
  // A replica looks for due renewals at its start, then once a minute.
  await Promise.all(services.map((service) => service.stop()));
  services.fill(await startAgain(1));
  await renewals.finish(services[0].baseUrl);
  const wrongPayments = await deposits.compare(replicas);
  await replicas.untilSettled();
  await replicas.untilSwept();
  await untilPublished(replicas);
  readersDone.abort();
  await Promise.all(reading);

  const [{ unmatched } = { unmatched: 0 }] = await replicas.query<{ unmatched: number }>(
    'SELECT count(*) AS unmatched FROM unmatched_proxies',
  );
  const [{ batched } = { batched: 0 }] = await replicas.query<{ batched: number }>(
    `SELECT coalesce(sum(size), 0)::integer AS batched
       FROM (SELECT count(*) AS size FROM orders WHERE batch_id IS NOT NULL GROUP BY batch_id) AS batches
      WHERE size > 1`,
  );
  const violations = [
    ...(await replicas.findViolations()),
    ...(await compareWithBook(replicas)),
    ...(await compareResponses(replicas, responses)),
    ...(await compareRefusals(replicas, withoutKey)),
    ...(await compareReaders(replicas, readers)),
    ...(await webhooks.compare(replicas)),
    ...(await renewals.compare()),
    ...wrongPayments,
  ];
  return {
    seed,
    orders,
    seconds: Math.round((performance.now() - startedAt) / 1000),
    responses: statuses.counts,
    requests: Object.values(requests.counts).reduce((sum, count) => sum + count, 0),
    faults: faults.counts,
    unmatched,
    batched,
    eventsRead: readers.reduce((sum, { received }) => sum + received.length, 0),
    failedReads: readers.reduce((sum, { failures }) => sum + failures, 0),
    webhookRequests: webhooks.requests,
    deposits: deposits.count(),
    renewed: await renewals.countDone(),
    notRenewed: renewals.skipped,
    violations,
  };
}

/** A refused order without a key must never have been executed, unless the response says otherwise. */
async function compareRefusals(
  replicas: Replicas,
  responses: readonly { requestId: string; response: ServiceResponse | null }[],
): Promise<string[]> {
  const executed = await replicas.query<{ id: number; requestId: string }>(
    `SELECT id, request_id AS "requestId" FROM orders WHERE state <> 'canceled' AND request_id = ANY ($1)`,
    [responses.map(({ requestId }) => requestId)],
  );
  const orderIds = new Map(executed.map(({ id, requestId }) => [requestId, id]));
  return responses.flatMap(({ requestId, response }) => {
    const orderId = orderIds.get(requestId);
    const isOpen = !response || String(response.body['detail']).endsWith('is being confirmed');
    if (isOpen || orderId === (response.status === 200 ? response.body['order_id'] : undefined)) return [];
    return [`request ${requestId} returned ${response.status}, and its order is ${orderId ?? 'missing'}`];
  });
}
