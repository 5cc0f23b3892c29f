import { sign } from '@telegram-apps/init-data-node';
import { ALL_SCOPES, ALL_STAFF_SCOPES } from '../../src/auth';
import { operationsOf, readDescription } from './description';
import { type FuzzCase, fuzzCases, rawNuls, type World } from './fuzz-cases';
import { exchangeRaw, type RawAnswer, sendRaw } from './raw-http';
import { createStaff } from './staff';
import { startTestService, type TestService, type TestUser } from './test-service';

const AT_ONCE = 6;
const BOT_TOKEN = '123456789:AAExampleExampleExampleExampleExample';
const TG_ID = 123_456_789;
/** Nothing is ever sent there: the address is not a public one. */
const WEBHOOK_URL = 'https://127.0.0.1/hooks';

export interface FuzzReport {
  readonly requests: number;
  /** How many answers had each status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** What was answered wrongly, with what repeats it. */
  readonly violations: readonly string[];
}

/**
 * Sends hostile requests to every operation of both descriptions, with a customer's token and with one of
 * staff that has every scope, and judges the answers: none is a 5xx, each has a status that the description
 * lists, and every error is `{"detail": …}`.
 */
export async function fuzz(options: { readonly seed: number; readonly random: number }): Promise<FuzzReport> {
  const service = await startTestService({ environment: { TELEGRAM_BOT_TOKEN: BOT_TOKEN } });
  try {
    return await fuzzService(service, options);
  } finally {
    await service.close();
  }
}

async function fuzzService(
  service: TestService,
  options: { readonly seed: number; readonly random: number },
): Promise<FuzzReport> {
  const customer = await service.createUser({ balance: '1000000.00' });
  const staff = await createStaff(service, [...ALL_SCOPES, ...ALL_STAFF_SCOPES]);
  const world = await prepareWorld(service, customer);
  const statuses: Record<string, number> = {};
  const violations: string[] = [];
  let requests = 0;
  const judge = (answer: RawAnswer, { operation, what, request, listed }: FuzzCase): void => {
    requests += 1;
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    const wrong = findFault(answer, listed);
    if (wrong === null) return;
    const body = request.body?.toString().slice(0, 300) ?? '';
    const sent = `${request.path.slice(0, 300)} ${JSON.stringify(request.headers).slice(0, 300)} ${body}`;
    violations.push(`${operation} (${what}): ${wrong}: ${answer.text.slice(0, 200)} after ${sent}`);
  };

  for (const [path, token] of [
    ['/openapi.json', customer.token],
    ['/staff/openapi.json', staff.token],
  ] as const) {
    const description = await readDescription(service.baseUrl + path);
    const cases = fuzzCases(description, world, options);
    const sendRest = async () => {
      for (let next = cases.pop(); next; next = cases.pop()) {
        judge(await sendRaw(service.baseUrl, { token, ...next.request }), next);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sendRest));
    for (const described of operationsOf(description)) {
      for (const raw of rawNuls(described, token)) {
        requests += 1;
        const answer = await exchangeRaw(service.baseUrl, raw);
        if (!/^HTTP\/1\.1 400 [^]*\{"detail":"Bad Request"\}$/.test(answer)) {
          violations.push(`${described.name} (a raw NUL): ${answer.slice(0, 200)}`);
        }
      }
    }
  }
  return { requests, statuses, violations };
}

/** Creates what the ids of the requests name. Staff's requests are about a customer of their own. */
async function prepareWorld(service: TestService, customer: TestUser): Promise<World> {
  const victim = await service.createUser();
  for (const user of [customer, victim]) {
    const { data } = await user.api.POST('/proxies/buy', {
      body: { country: 'ru', period: 30, count: 2 } as never,
    });
    expect(data?.proxies).toHaveLength(2);
  }
  const orders = await service.dataSource.query<{ id: string }[]>(
    'SELECT id FROM orders WHERE user_id = $1',
    [victim.id],
  );
  await service.dataSource.query('UPDATE users SET tg_id = $2 WHERE id = $1', [victim.id, TG_ID]);
  const token = await customer.api.POST('/tokens', { body: { scopes: ['profile:read'] } as never });
  const orphans = await service.dataSource.query<{ id: string }[]>(
    `INSERT INTO orphans (provider, provider_proxy_id, tag, host, port, login, password, proxy_type,
                          country, version, date_start, date_end)
     VALUES ('px6', '900', 'prs.t.u1.o1', '127.0.0.1', '1', 'u', 'p', 'http', 'ru', '6', now(), now())
     RETURNING id`,
  );
  const links = await Promise.all([1, 2].map(() => customer.api.POST('/links', { body: {} as never })));
  const webhook = await customer.api.POST('/webhooks', { body: { url: WEBHOOK_URL } });
  return {
    webhook_id: Number(webhook.data?.id),
    url: WEBHOOK_URL,
    types: null,
    event_id: null,
    link_id: Number(links[0]?.data?.id),
    secret: String(links[1]?.data?.url.split('/').at(-1)),
    template: null,
    'networks[]': '127.0.0.0/8',
    user_id: victim.id,
    order_id: Number(orders[0]?.id),
    token_id: Number(token.data?.id),
    init_data: sign({ user: { id: TG_ID, first_name: 'Anna' } }, BOT_TOKEN, service.clock.now()),
    orphan_id: Number(orphans[0]?.id),
    rule_id: 1,
    proxy_id: '1',
    'proxy_ids[]': '1',
    // Whoever names proxies by their ids gives no filter.
    filter: null,
    country: 'ru',
    period: 30,
    min_period: 7,
    max_period: 90,
    markup_percent: '12.5',
    amount: '1.00',
    max_price: '1000000.00',
    daily_limit: '500.00',
    reason: 'Ticket 817',
    'scopes[]': 'profile:read',
    'allowed_ips[]': '127.0.0.0/8',
    target: 'user:1',
    username: 'boris',
  };
}

/** What is wrong with an answer, or null. */
function findFault({ status, text }: RawAnswer, listed: readonly string[]): string | null {
  if (status >= 500) return `was answered with ${status}`;
  if (!listed.includes(String(status))) return `was answered with ${status}, which is not described`;
  if (status < 400) return null;
  const detail = readDetail(text);
  const isRight = status === 422 ? Array.isArray(detail) : typeof detail === 'string';
  return isRight ? null : `was answered with ${status} and no detail`;
}

function readDetail(text: string): unknown {
  try {
    const body = JSON.parse(text) as { detail?: unknown };
    return Object.keys(body).join() === 'detail' ? body.detail : undefined;
  } catch {
    return undefined;
  }
}
