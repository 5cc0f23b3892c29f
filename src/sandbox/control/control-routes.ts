import { z } from 'zod';
import { CATALOG, VERSIONS } from '../catalog/catalog';
import { readDialect } from '../dialect';
import { PROXY_FAULTS } from '../proxy-servers/endpoint';
import type { StateEvent } from '../state/state-event';
import { gateSchema } from '../wire/faults/gates';
import { latenciesSchema } from '../wire/latency';
import type { WireServerParts } from '../wire/wire-server';
import { viewOf } from './views';

const MAX_WAIT_MS = 60_000;
const MAX_OFFSET_MS = 100 * 365 * 86_400_000;

/** Parses roubles into kopecks. */
const kopecks = z
  .string()
  .regex(/^\d{1,12}(\.\d{1,2})?$/, 'must be roubles, such as "1234.50"')
  .transform((text) => Math.round(Number(text) * 100));
const version = z.enum(VERSIONS);

const BODIES = {
  balance: z.strictObject({ balance: kopecks }),
  keys: z.strictObject({ keys: z.record(z.string(), z.string()) }),
  stock: z
    .strictObject({ version, country: z.string(), available: z.int().min(0) })
    .refine((stock) => CATALOG.sells(stock.version, stock.country), {
      path: ['country'],
      error: 'is not sold in this version',
    }),
  price: z.strictObject({ version, periodDays: z.int().min(1), price: kopecks.nullable() }),
  clock: z.strictObject({ offsetMs: z.int().min(-MAX_OFFSET_MS).max(MAX_OFFSET_MS) }),
  rateLimit: z.strictObject({ perSecond: z.int().min(1).nullable() }),
  proxy: z.strictObject({
    host: z.string().min(1).optional(),
    port: z.int().min(1).max(65_535).optional(),
    unixtimeEnd: z.int().min(0).optional(),
  }),
  proxyFault: z.strictObject({ fault: z.enum(PROXY_FAULTS).nullable() }),
  open: z.strictObject({ drop: z.boolean().default(false) }).prefault({}),
};

const waitSchema = z.coerce.number().pipe(z.int().min(0).max(MAX_WAIT_MS));

export interface ControlRequest {
  id: number;
  query: URLSearchParams;
  body: unknown;
}

export interface ControlResponse {
  status: number;
  json: unknown;
}

type Response = ControlResponse | void;

/** The server responds with `done` if the route returns no response. */
type Route = (request: ControlRequest) => Response | Promise<Response>;

/** Routes are keyed by method and path; `:id` matches a number. */
export function controlRoutes(parts: WireServerParts): Readonly<Record<string, Route>> {
  const { provider, faults, gates, calls } = parts;
  const { store, dialect } = provider;
  const { state } = store;

  function getKnownProxy(id: number) {
    const proxy = state.findProxy(id);
    if (!proxy) throw new ControlError(404, `No proxy ${id}`);
    return proxy;
  }

  function record(event: StateEvent): Promise<void> {
    store.record(event);
    return store.durable();
  }

  return {
    'GET /state': () => ok(viewOf(state)),

    'GET /calls': ({ query }) => {
      const method = query.get('method');
      return ok(calls.list().filter((call) => method === null || call.method === method));
    },
    'DELETE /calls': () => calls.clear(),

    'POST /faults': ({ body }) => created(faults.add(body).id),
    'GET /faults': () => ok(faults.list()),
    'DELETE /faults': () => faults.clear(),
    'DELETE /faults/:id': ({ id }) => {
      if (!faults.cancel(id)) throw new ControlError(404, `No fault ${id}`);
    },

    'POST /gates': ({ body }) => created(gates.add(gateSchema.parse(body))),
    'GET /gates/:id/reached': async ({ id, query }) => {
      const reached = gates.findReached(id);
      if (!reached) throw new ControlError(404, `No gate ${id}`);
      return firstOf(reached, waitSchema.parse(query.get('timeoutMs') ?? 10_000));
    },
    'POST /gates/:id/open': ({ id, body }) => {
      const { drop } = BODIES.open.parse(body);
      if (!gates.open(id, drop ? 'drop' : 'pass')) throw new ControlError(404, `No gate ${id}`);
    },
    'DELETE /gates': () => gates.openAll('pass'),

    'POST /balance': ({ body }) => record({ kind: 'balance', kopecks: BODIES.balance.parse(body).balance }),
    'POST /stock': ({ body }) => record({ kind: 'stock', ...BODIES.stock.parse(body) }),
    'POST /prices': ({ body }) => {
      const { price, ...ofPrice } = BODIES.price.parse(body);
      return record({ kind: 'price', ...ofPrice, kopecks: price });
    },
    'POST /clock': ({ body }) => record({ kind: 'clock', ...BODIES.clock.parse(body) }),
    'POST /keys': ({ body }) => {
      const keys = Object.entries(BODIES.keys.parse(body).keys);
      parts.keys.clear();
      for (const [key, userId] of keys) parts.keys.set(key, userId);
    },
    'POST /dialect': ({ body }) => {
      dialect.current = { ...dialect.current, ...readDialect(body) };
    },
    'POST /rate-limit': ({ body }) => {
      parts.rateLimit.perSecond = BODIES.rateLimit.parse(body).perSecond;
    },
    'POST /latency': ({ body }) => {
      parts.latencies.current = latenciesSchema.parse(body);
    },

    'POST /proxies/:id': ({ id, body }) => {
      const proxy = getKnownProxy(id);
      const { host = proxy.host, port = proxy.port, unixtimeEnd } = BODIES.proxy.parse(body);
      if (host !== proxy.host || port !== proxy.port) store.record({ kind: 'moved', id, host, port });
      if (unixtimeEnd !== undefined) store.record({ kind: 'dated', id, endsAtS: unixtimeEnd });
      return store.durable();
    },
    'POST /proxy-servers/:id': ({ id, body }) => {
      getKnownProxy(id);
      const { fault } = BODIES.proxyFault.parse(body);
      if (fault === null) provider.proxyServers.faults.delete(id);
      else provider.proxyServers.faults.set(id, fault);
    },
    'DELETE /proxies/:id': ({ id }) => {
      getKnownProxy(id);
      return record({ kind: 'deleted', ids: [id], atMs: state.nowMs() });
    },
  };
}

export class ControlError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

function ok(json: unknown): ControlResponse {
  return { status: 200, json };
}

function created(id: number): ControlResponse {
  return { status: 201, json: { id } };
}

async function firstOf(reached: Promise<Record<string, string>>, waitMs: number): Promise<ControlResponse> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<ControlResponse>((resolve) => {
    timer = setTimeout(
      () => resolve({ status: 408, json: { error: 'No request reached the gate in time' } }),
      waitMs,
    );
  });
  const inTime = reached.then((parameters) => ok({ parameters }));
  return Promise.race([inTime, tooLate]).finally(() => clearTimeout(timer));
}
