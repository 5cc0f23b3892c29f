import type { components } from '../../clients/typescript/src/api-types';
import { TokensService } from '../../src/auth';
import { Money } from '../../src/common';
import { send, type ServiceResponse } from './replicas';
import { SeededRandom } from './seeded-random';
import type { TestService, TestUser } from './test-service';

export type DryRun = components['schemas']['DryRunResponse'];

export const postOrder = (
  baseUrl: string,
  token: string,
  path: string,
  body: object,
  key?: string,
): Promise<ServiceResponse> =>
  send(baseUrl, { customer: { token }, path, body, ...(key !== undefined && { key }) });

/** @throws when it is not the response of a dry run */
export function readDryRun({ status, body }: ServiceResponse): DryRun {
  if (status !== 200 || body['dry_run'] !== true) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body as unknown as DryRun;
}

/** Everything that placing an order writes, and the provider's money calls. */
export async function findTraces(service: TestService): Promise<object> {
  const [rows] = await service.owner.query(
    `SELECT (SELECT md5(json_agg(o ORDER BY id)::text) FROM orders o) AS orders,
            (SELECT md5(json_agg(e ORDER BY id)::text) FROM ledger_entries e) AS entries,
            (SELECT md5(json_agg(a ORDER BY user_id)::text) FROM accounts a) AS accounts,
            (SELECT md5(json_agg(s ORDER BY token_id, day)::text) FROM token_spending s) AS spending,
            (SELECT md5(json_agg(p ORDER BY id)::text) FROM proxies p) AS proxies,
            (SELECT last_value FROM orders_id_seq) AS last_id`,
  );
  const calls = await Promise.all(
    (['buy', 'prolong'] as const).map(async (method) => (await service.control.getCalls(method)).length),
  );
  return { ...rows, calls };
}

interface Customer {
  readonly user: TestUser;
  readonly token: string;
  readonly proxyId: string | null;
}

async function createCustomer(service: TestService, dice: SeededRandom): Promise<Customer> {
  const user = await service.createUser({ balance: dice.pick(['30.00', '100.00', '5000.00']) });
  const limit = dice.pick(['26.00', '60.00', '4000.00', null]);
  const { text } = await service.app.get(TokensService).issue({
    userId: user.id,
    scopes: ['proxies:write'],
    dailyLimit: limit === null ? null : Money.parse(limit),
  });
  if (dice.chance(0.5)) return { user, token: text, proxyId: null };
  const { body } = await postOrder(service.baseUrl, user.token, '/proxies/buy', {
    country: 'ru',
    period: 30,
  });
  return { user, token: text, proxyId: (body['proxies'] as [{ id: string }])[0].id };
}

/**
 * Places random orders after a dry run, which must predict the response and leave no trace.
 *
 * @returns how often each response was predicted
 */
export async function compareDryRuns(
  service: TestService,
  states: number,
  seed = Number(process.env['DRY_RUN_SEED'] ?? Date.now() % 1_000_000),
): Promise<ReadonlyMap<string, number>> {
  const dice = new SeededRandom(seed);
  const predicted = new Map<string, number>();
  for (const country of ['fr', 'it']) await service.control.setStock('6', country, 60);
  let customer = await createCustomer(service, dice);
  for (let state = 0; state < states; state += 1) {
    if (dice.chance(0.2)) customer = await createCustomer(service, dice);
    const { user, token, proxyId } = customer;
    const prolonged = dice.chance(0.9) ? proxyId : '0';
    const isPurchase = prolonged === null || dice.chance(0.5);
    const path = isPurchase ? '/proxies/buy' : `/proxies/${prolonged}/prolong`;
    const body = {
      period: dice.pick([30, 30, 30, 30, 30, 7, 2, 4, 3651]),
      max_price: dice.pick([null, null, '25.07', '25.08', '80', '0.01', '500.00']),
      ...(isPurchase && {
        country: dice.pick(['fr', 'it', 'ru', 'zz']),
        count: dice.pick([1, 1, 2, 3, 40, 61]),
        proxy_type: dice.pick(['http', 'http', 'http', 'http', 'socks', 'ftp']),
        allow_partial: dice.chance(0.7),
      }),
    };
    const key = dice.pick([undefined, undefined, 'a', `k${state}`]);
    const before = await findTraces(service);
    const dry = await postOrder(service.baseUrl, token, path, { ...body, dry_run: true }, key);
    const context = JSON.stringify({ seed, state, path, body, key, dry });
    expect([await findTraces(service), context]).toEqual([before, context]);
    const real = await postOrder(service.baseUrl, token, path, body, key);
    const said = dry.status === 200 ? readDryRun(dry) : null;
    const [refusal] = said?.refusals ?? [];
    const { available } = await service.balanceOf(user);
    if (!said) {
      expect([real.status, real.body, context]).toEqual([dry.status, dry.body, context]);
    } else if (refusal) {
      expect([real.status, real.body['detail'], context]).toEqual([refusal.status, refusal.detail, context]);
    } else {
      expect([real.status, real.replayed, context]).toEqual([200, said.order_id !== null, context]);
      if (said.order_id !== null) expect(real.body['order_id']).toBe(said.order_id);
      else expect([real.body['price_charged'], context]).toEqual([said.price_final, context]);
    }
    if (said) expect([available, context]).toEqual([said.balance_after, context]);
    const response = refusal ? `${refusal.status} ${refusal.detail.slice(0, 12)}` : String(dry.status);
    predicted.set(response, (predicted.get(response) ?? 0) + 1);
  }
  return predicted;
}
