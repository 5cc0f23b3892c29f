import { sign } from '@telegram-apps/init-data-node';
import { ALL_SCOPES, ALL_STAFF_SCOPES } from '../../src/auth';
import { PriceRulesService } from '../../src/pricing';
import { operationsOf, readDescription } from './description';
import { type FuzzCase, fuzzCases, rawNuls, type World } from './fuzz-cases';
import { insertUnmatchedProxy } from './proxy-rows';
import { exchangeRaw, type RawResponse, sendRaw } from './raw-http';
import { createStaff } from './staff';
import { startTestService, type TestService, type TestUser } from './test-service';

const AT_ONCE = 6;
const BOT_TOKEN = '123456789:AAExampleExampleExampleExampleExample';
const TG_ID = 123_456_789;
/** Not a public address, so nothing is ever sent there. */
const WEBHOOK_URL = 'https://127.0.0.1/hooks';

export interface FuzzReport {
  readonly requests: number;
  /** Operations whose valid request failed, so that nothing behind their checks was tried. */
  readonly notReached: readonly string[];
  /** Each with the command that reproduces it. */
  readonly violations: readonly string[];
}

interface FuzzOptions {
  readonly seed: number;
  /** Requests per description with several hostile values each. */
  readonly random: number;
}

/** Each response must be an error `{"detail": …}` or a success, with a listed status, and never a 5xx. */
export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  // The fuzzer breaks the books, and sign-in needs a bot token.
  const service = await startTestService({ environment: { TELEGRAM_BOT_TOKEN: BOT_TOKEN } });
  try {
    return await fuzzService(service, options);
  } finally {
    await service.close();
  }
}

async function fuzzService(service: TestService, options: FuzzOptions): Promise<FuzzReport> {
  const customer = await service.createUser({ balance: '1000000.00' });
  const staff = await createStaff(service, [...ALL_SCOPES, ...ALL_STAFF_SCOPES]);
  const world = await prepareWorld(service, customer);
  const violations: string[] = [];
  const notReached: string[] = [];
  let requests = 0;
  const judge = (response: RawResponse, { operation, what, request, listed }: FuzzCase): void => {
    requests += 1;
    const wrong = findFault(response, listed);
    if (wrong === null) return;
    const body = request.body?.toString().slice(0, 300) ?? '';
    const sent = `${request.path.slice(0, 300)} ${JSON.stringify(request.headers).slice(0, 300)} ${body}`;
    violations.push(`${operation} (${what}): ${wrong}: ${response.text.slice(0, 200)} after ${sent}`);
  };

  for (const [path, token] of [
    ['/openapi.json', customer.token],
    ['/staff/openapi.json', staff.token],
  ] as const) {
    const description = await readDescription(service.baseUrl + path);
    const { valid, hostile } = fuzzCases(description, world, options);
    for (const one of valid) {
      const response = await sendRaw(service.baseUrl, { token, ...one.request });
      if (response.status >= 400) notReached.push(one.operation);
      judge(response, one);
    }
    const rest = [...hostile];
    const sendRest = async () => {
      for (let next = rest.pop(); next; next = rest.pop()) {
        judge(await sendRaw(service.baseUrl, { token, ...next.request }), next);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sendRest));
    for (const described of operationsOf(description)) {
      for (const raw of rawNuls(described, token)) {
        requests += 1;
        const response = await exchangeRaw(service.baseUrl, raw);
        if (!/^HTTP\/1\.1 400 [^]*\{"detail":"Bad Request"\}$/.test(response)) {
          violations.push(`${described.name} (a raw NUL): ${response.slice(0, 200)}`);
        }
      }
    }
  }
  return { requests, notReached, violations };
}

/** Creates what the requests' ids refer to. Staff act on a customer of their own. */
async function prepareWorld(service: TestService, customer: TestUser): Promise<World> {
  const victim = await service.createUser();
  for (const user of [customer, victim]) expect((await user.buy({ count: 2 })).data?.proxies).toHaveLength(2);
  const [ownOrder, order] = await service.dataSource.query<{ id: number }[]>(
    'SELECT id FROM orders ORDER BY user_id',
  );
  await service.dataSource.query('UPDATE users SET tg_id = $2 WHERE id = $1', [victim.id, TG_ID]);
  const [refund] = await service.dataSource.query<{ id: number }[]>(
    `INSERT INTO proxy_refunds (proxy_id, user_id, last_order_id, state, reason, next_check_at)
     SELECT id, user_id, order_id, 'staff', 'undecided', NULL
       FROM proxies WHERE order_id = $1 LIMIT 1 RETURNING id`,
    [order?.id],
  );
  const token = await customer.api.POST('/tokens', { body: { scopes: ['profile:read'] } as never });
  const [unmatchedProxy, marked, delivered] = await Promise.all(
    [1, 2, 3].map(() => insertUnmatchedProxy(service.dataSource, `prs.t.u${victim.id}.o1`)),
  );
  const links = await Promise.all([1, 2].map(() => customer.api.POST('/links', { body: {} as never })));
  const [webhook, webhookOfVictim] = await Promise.all(
    [customer, victim].map(({ api }) => api.POST('/webhooks', { body: { url: WEBHOOK_URL } })),
  );
  const priceRule = await service.app
    .get(PriceRulesService)
    .add({ country: 'de', markupPercent: '25' }, { by: 'anna', reason: 'Ticket 816' });
  const renewalRule = await customer.api.POST('/renewals/rules', { body: { target: 'all', period: 30 } });
  return {
    webhook_id: Number(webhook?.data?.id),
    'POST /staff/webhooks/{webhook_id}/disable webhook_id': Number(webhookOfVictim?.data?.id),
    'POST /staff/webhooks/{webhook_id}/enable webhook_id': Number(webhookOfVictim?.data?.id),
    url: WEBHOOK_URL,
    types: null,
    enabled: true,
    event_id: null,
    after: null,
    link_id: Number(links[0]?.data?.id),
    secret: String(links[1]?.data?.url.split('/').at(-1)),
    template: null,
    'networks[]': '127.0.0.0/8',
    user_id: victim.id,
    order_id: Number(order?.id),
    'GET /orders/{order_id} order_id': Number(ownOrder?.id),
    token_id: Number(token.data?.id),
    initData: sign({ user: { id: TG_ID, first_name: 'Anna' } }, BOT_TOKEN, service.clock.now()),
    unmatched_proxy_id: Number(unmatchedProxy),
    'POST /staff/unmatched-proxies/{unmatched_proxy_id}/mark unmatched_proxy_id': Number(marked),
    'POST /staff/unmatched-proxies/{unmatched_proxy_id}/deliver unmatched_proxy_id': Number(delivered),
    refund_id: Number(refund?.id),
    'versions[]': '6',
    daily_sum: '1000.00',
    quota_sum: '500.00',
    rule_id: priceRule.id,
    'DELETE /renewals/rules/{rule_id} rule_id': Number(renewalRule.data?.id),
    proxy_id: '1',
    'proxy_ids[]': '1',
    // A request that names proxies by their ids has no filter.
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
    'POST /renewals/rules target': 'proxy',
    monthly: '5000.00',
    balance_low: '50.00',
    price: '1.00',
    cost: '1.00',
    replaces: null,
    end: null,
    valid_to: null,
    'GET /staff/renewals reason': 'paused',
    username: 'boris',
  };
}

function findFault({ status, text }: RawResponse, listed: readonly string[]): string | null {
  if (status >= 500) return `returned ${status}`;
  if (!listed.includes(String(status))) return `returned ${status}, which is not described`;
  if (status < 400) return null;
  const detail = readDetail(text);
  const isRight = status === 422 ? Array.isArray(detail) : typeof detail === 'string';
  return isRight ? null : `returned ${status} without a detail`;
}

function readDetail(text: string): unknown {
  try {
    const body = JSON.parse(text) as { detail?: unknown };
    return /^detail(,code)?$/.test(Object.keys(body).join()) ? body.detail : undefined;
  } catch {
    return undefined;
  }
}
