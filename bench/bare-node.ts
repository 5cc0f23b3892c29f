import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { Pool } from 'pg';
import { multiplyDecimal, unitPriceWithMarkup } from '../src/common/money';
import { readEnvironment } from '../src/config/environment';
import { ORDER_DELIVERED, ORDER_PAID, ordinaryUrl } from './ordinary-shop';

// The baseline "bare node": a server on plain `node:http` and `pg`. Reads return the service's responses. A
// purchase takes the money in one transaction, calls the provider, and stores the proxies in another. It does
// not validate, log, limit, queue or recover.

const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const LAST_USED_STEP_MS = 60_000;
const CATALOG_AGE_MS = 60_000;

const FIND_CALLER = `
  SELECT token.id AS "tokenId", user_id AS "userId", scopes, allowed_ips AS "allowedIps",
         daily_limit AS "dailyLimit",
         last_used_at AS "lastUsedAt", blocked_at IS NOT NULL AS "isBlocked"
    FROM api_tokens token JOIN users ON users.id = token.user_id
   WHERE token_hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`;

const READ_PROFILE = `
  SELECT u.username, u.tg_id AS "tgId", u.web_username AS "webUsername", u.has_app AS "hasApp",
         a.available AS balance
    FROM users u JOIN accounts a ON a.user_id = u.id
   WHERE u.id = $1`;

const LIST_PROXIES = `
  SELECT id, host, port, login, password, proxy_type, country, version, date_start, date_end, withdrawn_at,
         label AS descr
    FROM proxies WHERE user_id = $1 ORDER BY id`;

interface Caller {
  readonly tokenId: string;
  readonly userId: string;
  readonly scopes: readonly string[];
  readonly lastUsedAt: Date | null;
  readonly isBlocked: boolean;
}

interface Profile {
  readonly username: string | null;
  readonly tgId: string | null;
  readonly webUsername: string | null;
  readonly hasApp: boolean;
  readonly balance: string;
}

interface ProxyRow {
  readonly id: string;
  readonly host: string;
  readonly port: string;
  readonly login: string;
  readonly password: string;
  readonly proxy_type: string;
  readonly country: string;
  readonly version: string;
  readonly date_start: Date | null;
  readonly date_end: Date | null;
  readonly withdrawn_at: Date | null;
  readonly descr: string | null;
}

type Handler = (url: URL, caller: Caller, request: IncomingMessage) => Promise<unknown>;

const environment = readEnvironment();
const { ownerUrl = '', poolSize: max } = environment.database;
const pool = new Pool({ connectionString: environment.database.url, max });
const shop = new Pool({ connectionString: ordinaryUrl(ownerUrl), max });

async function query<Row>(name: string, text: string, values: unknown[], from = pool): Promise<Row[]> {
  const { rows } = await from.query({ name, text, values });
  return rows as Row[];
}

async function findCaller(request: IncomingMessage): Promise<Caller | undefined> {
  const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
  if (token === undefined) return undefined;
  const now = new Date();
  const hash = createHash('sha256').update(token).digest();
  const [caller] = await query<Caller>('caller', FIND_CALLER, [hash, now]);
  if (caller && now.getTime() - (caller.lastUsedAt?.getTime() ?? 0) >= LAST_USED_STEP_MS) {
    await query('used', 'UPDATE api_tokens SET last_used_at = $2 WHERE id = $1', [caller.tokenId, now]);
  }
  return caller?.isBlocked ? undefined : caller;
}

const isoSeconds = (date: Date | null): string | null => date && date.toISOString().replace(/\.\d{3}Z$/, 'Z');

function toProxyOut(row: ProxyRow, now: Date): object {
  return {
    id: row.id,
    host: row.host,
    port: row.port,
    login: row.login,
    password: row.password,
    proxy_type: row.proxy_type,
    country: row.country,
    version: row.version,
    date_start: isoSeconds(row.date_start),
    date_end: isoSeconds(row.date_end),
    active: row.date_end !== null && row.date_end > now && row.withdrawn_at === null,
    descr: row.descr,
  };
}

const readProxies = ({ userId }: Caller): Promise<ProxyRow[]> => query('proxies', LIST_PROXIES, [userId]);

async function listProxies(caller: Caller): Promise<object[]> {
  const now = new Date();
  return (await readProxies(caller)).map((row) => toProxyOut(row, now));
}

async function exportProxies(caller: Caller): Promise<string> {
  const rows = await readProxies(caller);
  return rows.map(({ host, port, login, password }) => `${host}:${port}:${login}:${password}\n`).join('');
}

interface Bought {
  readonly order_id: string | number;
  readonly list: Readonly<Record<string, Readonly<Record<string, string | number>>>>;
}

async function buy({ userId }: Caller, request: IncomingMessage): Promise<object> {
  const { country, period, count } = (await json(request)) as {
    country: string;
    period: number;
    count: number;
  };
  const prices = (await readCatalog('prices')) as Record<string, Record<string, string>>;
  const total = multiplyDecimal(prices['6']?.[period] ?? '0', count);
  const price = unitPriceWithMarkup(total, count, environment.pricing.markupPercent).times(count).toString();
  const tag = randomUUID();
  const [order] = await query<{ id: string }>('paid', ORDER_PAID, [userId, price, tag], shop);
  if (!order) throw new Error('The balance does not suffice');
  const { baseUrl, apiKey } = environment.provider;
  const wanted = new URLSearchParams({
    count: String(count),
    period: String(period),
    country,
    version: '6',
    descr: tag,
  });
  const sold = await fetch(`${baseUrl}/api/${apiKey}/buy/?${wanted.toString()}`);
  const bought = (await sold.json()) as Bought;
  const proxies = Object.values(bought.list);
  const column = (name: string): unknown[] => proxies.map((proxy) => proxy[name]);
  const delivered = await query(
    'delivered',
    ORDER_DELIVERED,
    [
      order.id,
      bought.order_id,
      ...['id', 'host', 'port', 'user', 'pass', 'unixtime', 'unixtime_end'].map(column),
      country,
    ],
    shop,
  );
  return { order_id: Number(order.id), price_charged: price, currency: 'RUB', proxies: delivered };
}

let catalog: { readonly readAtMs: number; readonly values: ReadonlyMap<string, unknown> } | undefined;

async function readCatalog(key: string): Promise<unknown> {
  if (!catalog?.values.has(key) || performance.now() - catalog.readAtMs > CATALOG_AGE_MS) {
    const rows = await query<{ key: string; value: unknown }>(
      'catalog',
      'SELECT key, value FROM catalog_copies WHERE value IS NOT NULL',
      [],
    );
    catalog = {
      readAtMs: performance.now(),
      values: new Map(rows.map(({ key: name, value }) => [name, value])),
    };
  }
  return catalog.values.get(key);
}

async function quote({ searchParams }: URL): Promise<object> {
  const version = searchParams.get('version') ?? '6';
  const period = searchParams.get('period') ?? '';
  const count = Number(searchParams.get('count'));
  const prices = (await readCatalog('prices')) as Record<string, Record<string, string>>;
  const total = multiplyDecimal(prices[version]?.[period] ?? '0', count);
  const unit = unitPriceWithMarkup(total, count, environment.pricing.markupPercent);
  return {
    price_final: unit.times(count).toString(),
    price_single: unit.toString(),
    period: Number(period),
    count,
    currency: 'RUB',
  };
}

const HANDLERS: Readonly<Record<string, readonly [scope: string, handler: Handler]>> = {
  '/me': [
    'profile:read',
    async (_, { userId }) => {
      const [profile] = await query<Profile>('profile', READ_PROFILE, [userId]);
      return {
        tg_id: profile?.tgId === null ? null : Number(profile?.tgId),
        username: profile?.username,
        web_username: profile?.webUsername,
        balance: profile?.balance,
        has_app: profile?.hasApp,
      };
    },
  ],
  '/countries': [
    'countries:read',
    (url) => readCatalog(`countries/${url.searchParams.get('version') ?? '6'}`),
  ],
  '/price': ['price:read', quote],
  '/proxies': ['proxies:read', (_, caller) => listProxies(caller)],
  '/proxies/export': ['proxies:export', (_, caller) => exportProxies(caller)],
  '/proxies/buy': ['proxies:write', (_, caller, request) => buy(caller, request)],
};

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  if (url.pathname === '/health') {
    send(response, 200, { status: 'ok' });
    return;
  }
  const [scope, handler] = HANDLERS[url.pathname] ?? [];
  if (scope === undefined || handler === undefined) {
    send(response, 404, { detail: 'Not Found' });
    return;
  }
  const caller = await findCaller(request);
  if (!caller?.scopes.includes(scope)) {
    send(response, 401, { detail: 'Invalid token' });
    return;
  }
  send(response, 200, await handler(url, caller, request));
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const isText = typeof body === 'string';
  const bytes = Buffer.from(isText ? body : JSON.stringify(body));
  response
    .writeHead(status, {
      'Content-Type': isText ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8',
      'Content-Length': bytes.length,
    })
    .end(bytes);
}

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => send(response, 500, { detail: String(error) }));
});
server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
server.listen(environment.server.port, environment.server.host, () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`Listening on http://${environment.server.host}:${port}\n`);
});
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  void Promise.all([pool.end(), shop.end()]);
});
