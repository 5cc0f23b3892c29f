import { CATALOG, VERSIONS } from '../catalog/catalog';
import { type Dialect, DialectError, readDialect } from '../dialect';
import { EXIT_FAULTS } from '../exits/endpoint';
import { PROFILE_NAMES, PROFILES } from '../profiles';
import type { WireServerParts } from '../wire/wire-server';
import { BadRequestError, Fields } from './fields';
import { readFaultSpec, readGateSpec, readLatencies } from './request-bodies';
import { stateJson } from './views';

const MAX_WAIT_MS = 60_000;
const MAX_OFFSET_MS = 100 * 365 * 86_400_000;

/** A request as a route receives it; `body` is undefined without a body. */
export interface ControlRequest {
  id: number;
  query: URLSearchParams;
  body: unknown;
}

export interface ControlAnswer {
  status: number;
  /** Sent as JSON, unless `pieces` are the JSON text. */
  json: unknown;
  pieces?: Iterable<string>;
}

type Route = (request: ControlRequest) => ControlAnswer | Promise<ControlAnswer>;

/** Keyed by method and path; `:id` matches a number. */
export function controlRoutes(parts: WireServerParts): Readonly<Record<string, Route>> {
  const { provider, faults, gates, calls } = parts;
  const { store, clock, dialect } = provider;
  const { state } = store;

  function getKnownProxy(id: number) {
    const proxy = state.findProxy(id, clock.nowMs());
    if (!proxy) throw new NotFoundError(`No proxy ${id}`);
    return proxy;
  }

  async function doneDurably(): Promise<ControlAnswer> {
    await store.durable();
    return done();
  }

  return {
    'GET /state': () => ({ status: 200, json: null, pieces: stateJson(state, clock.nowMs()) }),

    'GET /calls': ({ query }) => {
      const method = query.get('method');
      return ok(calls.list().filter((call) => method === null || call.method === method));
    },
    'DELETE /calls': () => {
      calls.clear();
      return done();
    },

    'POST /faults': ({ body }) => created(faults.add(readFaultSpec(body)).id),
    'GET /faults': () => ok(faults.list()),
    'DELETE /faults': () => {
      faults.clear();
      return done();
    },
    'DELETE /faults/:id': ({ id }) => {
      if (!faults.cancel(id)) throw new NotFoundError(`No fault ${id}`);
      return done();
    },

    'POST /gates': ({ body }) => created(gates.add(readGateSpec(body))),
    'GET /gates/:id/reached': async ({ id, query }) => {
      const reached = gates.findReached(id);
      if (!reached) throw new NotFoundError(`No gate ${id}`);
      return firstOf(reached, readWaitMs(query));
    },
    'POST /gates/:id/open': ({ id, body }) => {
      const fields = new Fields(body ?? {}, ['drop']);
      const drop = fields.has('drop') && fields.getBoolean('drop');
      if (!gates.open(id, drop ? 'drop' : 'pass')) throw new NotFoundError(`No gate ${id}`);
      return done();
    },
    'DELETE /gates': () => {
      gates.openAll('pass');
      return done();
    },

    'POST /balance': ({ body }) => {
      store.record({ kind: 'balance', kopecks: new Fields(body, ['balance']).getKopecks('balance') });
      return doneDurably();
    },
    'POST /keys': ({ body }) => {
      const keys = Object.entries(new Fields(body, ['keys']).getStrings('keys'));
      parts.keys.clear();
      for (const [key, userId] of keys) parts.keys.set(key, userId);
      return done();
    },
    'POST /stock': ({ body }) => {
      const fields = new Fields(body, ['version', 'country', 'available']);
      const version = fields.getOneOf('version', VERSIONS);
      const country = fields.getOneOf('country', CATALOG.countriesOf(version));
      store.record({ kind: 'stock', version, country, available: fields.getInteger('available') });
      return doneDurably();
    },
    'POST /prices': ({ body }) => {
      const fields = new Fields(body, ['version', 'periodDays', 'price']);
      store.record({
        kind: 'price',
        version: fields.getOneOf('version', VERSIONS),
        periodDays: fields.getInteger('periodDays', 1),
        kopecks: fields.isNull('price') ? null : fields.getKopecks('price'),
      });
      return doneDurably();
    },
    'POST /clock': ({ body }) => {
      const fields = new Fields(body, ['offsetMs']);
      store.record({
        kind: 'clock',
        offsetMs: fields.getInteger('offsetMs', -MAX_OFFSET_MS, MAX_OFFSET_MS),
      });
      return doneDurably();
    },
    'POST /profile': ({ body }) => {
      const profile = PROFILES[new Fields(body, ['name']).getOneOf('name', PROFILE_NAMES)];
      parts.latencies.current = profile.latencies;
      parts.rateLimit.perSecond = profile.ratePerSecond;
      faults.replaceProfileFaults(profile.faults);
      return done();
    },
    'GET /dialect': () => ok(dialect.current),
    'POST /dialect': ({ body }) => {
      dialect.current = { ...dialect.current, ...readDialectBody(body) };
      return ok(dialect.current);
    },
    'POST /rate-limit': ({ body }) => {
      const fields = new Fields(body, ['perSecond']);
      parts.rateLimit.perSecond = fields.isNull('perSecond') ? null : fields.getInteger('perSecond', 1);
      return done();
    },
    'POST /latency': ({ body }) => {
      parts.latencies.current = readLatencies(body);
      return done();
    },

    'POST /proxies/:id': ({ id, body }) => {
      const proxy = getKnownProxy(id);
      const fields = new Fields(body, ['host', 'port', 'unixtimeEnd']);
      const host = fields.has('host') ? fields.getString('host') : proxy.host;
      const port = fields.has('port') ? fields.getInteger('port', 1, 65_535) : proxy.port;
      const endsAtS = fields.has('unixtimeEnd') ? fields.getInteger('unixtimeEnd') : null;
      if (host !== proxy.host || port !== proxy.port) store.record({ kind: 'moved', id, host, port });
      if (endsAtS !== null) store.record({ kind: 'dated', id, endsAtS });
      return doneDurably();
    },
    'POST /exits/:id': ({ id, body }) => {
      getKnownProxy(id);
      const fields = new Fields(body, ['fault']);
      if (fields.isNull('fault')) provider.exits.faults.delete(id);
      else provider.exits.faults.set(id, fields.getOneOf('fault', EXIT_FAULTS));
      return done();
    },
    'DELETE /proxies/:id': ({ id }) => {
      getKnownProxy(id);
      store.record({ kind: 'deleted', ids: [id], atMs: clock.nowMs() });
      return doneDurably();
    },
  };
}

export class NotFoundError extends Error {}

function ok(json: unknown): ControlAnswer {
  return { status: 200, json };
}

function done(): ControlAnswer {
  return ok({ done: true });
}

function created(id: number): ControlAnswer {
  return { status: 201, json: { id } };
}

function readDialectBody(body: unknown): Partial<Dialect> {
  if (typeof body !== 'object' || body === null) throw new BadRequestError('The body must be a JSON object');
  try {
    return readDialect({ ...body });
  } catch (error) {
    throw error instanceof DialectError ? new BadRequestError(error.message) : error;
  }
}

function readWaitMs(query: URLSearchParams): number {
  const waitMs = Number(query.get('timeoutMs') ?? 10_000);
  if (!Number.isInteger(waitMs) || waitMs < 0 || waitMs > MAX_WAIT_MS) {
    throw new BadRequestError(`timeoutMs must be an integer from 0 to ${MAX_WAIT_MS}`);
  }
  return waitMs;
}

async function firstOf(reached: Promise<Record<string, string>>, waitMs: number): Promise<ControlAnswer> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<ControlAnswer>((resolve) => {
    timer = setTimeout(
      () => resolve({ status: 408, json: { error: 'No request reached the gate in time' } }),
      waitMs,
    );
  });
  const inTime = reached.then((parameters) => ok({ parameters }));
  return Promise.race([inTime, tooLate]).finally(() => clearTimeout(timer));
}
