import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Pool } from 'pg';
import { multiplyDecimal, unitPriceWithMarkup } from '../../src/common/money';
import { readEnvironment } from '../../src/config/environment';

/**
 * The baseline "bare node": the service's reads on plain `node:http` and `pg`, with the same responses. It
 * looks the token up for each request, reads rows, maps them and writes JSON; an export in pieces. It
 * validates, logs and limits nothing.
 */

const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const LAST_USED_STEP_MS = 60_000;
const CATALOG_AGE_MS = 60_000;
/** Proxies in a piece of an export. */
const PIECE_SIZE = 1000;

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
         descr
    FROM proxies WHERE user_id = $1 AND id > $2 ORDER BY id`;

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

type Handler = (url: URL, caller: Caller) => Promise<unknown>;

const environment = readEnvironment(undefined, { provider: false });
const pool = new Pool({
  connectionString: environment.database.url,
  max: environment.database.poolSize,
  application_name: 'proxy-rental bare bench',
});

async function query<Row>(name: string, text: string, values: unknown[]): Promise<Row[]> {
  const { rows } = await pool.query({ name, text, values });
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

async function listProxies({ userId }: Caller): Promise<object[]> {
  const rows = await query<ProxyRow>('proxies', LIST_PROXIES, [userId, 0]);
  const now = new Date();
  return rows.map((row) => toProxyOut(row, now));
}

/** Reads the next piece while the one before is sent. */
async function* exportProxies({ userId }: Caller, format: string | null): AsyncGenerator<string> {
  const read = (after: string): Promise<ProxyRow[]> =>
    query('piece', `${LIST_PROXIES} LIMIT ${PIECE_SIZE}`, [userId, after]);
  const now = new Date();
  let separator = '[';
  for (let next: Promise<ProxyRow[]> | undefined = read('0'); next;) {
    const rows: ProxyRow[] = await next;
    next = rows.length === PIECE_SIZE ? read(rows.at(-1)?.id ?? '') : undefined;
    if (format === 'txt') {
      yield rows.map(({ host, port, login, password }) => `${host}:${port}:${login}:${password}\n`).join('');
    } else if (rows.length > 0) {
      yield separator + rows.map((row) => JSON.stringify(toProxyOut(row, now))).join(',');
      separator = ',';
    }
  }
  if (format !== 'txt') yield separator === '[' ? '[]' : ']';
}

/** The service's stored catalog, cached in memory for as long as the service does. */
let catalog: { readonly readAtMs: number; readonly values: ReadonlyMap<string, unknown> } | undefined;

async function readCatalog(key: string): Promise<unknown> {
  if (!catalog?.values.has(key) || performance.now() - catalog.readAtMs > CATALOG_AGE_MS) {
    const rows = await query<{ key: string; value: unknown }>(
      'catalog',
      'SELECT key, value FROM catalogue_copies WHERE value IS NOT NULL',
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
  '/proxies/export': [
    'proxies:export',
    async ({ searchParams }, caller) => Readable.from(exportProxies(caller, searchParams.get('format'))),
  ],
};

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
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
  const body = await handler(url, caller);
  if (body instanceof Readable) await pipeline(body, response);
  else send(response, 200, body);
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response
    .writeHead(status, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': bytes.length,
    })
    .end(bytes);
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => send(response, 500, { detail: String(error) }));
});
server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
server.listen(environment.server.port, environment.server.host, () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`Listening on http://${environment.server.host}:${port}\n`);
});
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  void pool.end();
});
