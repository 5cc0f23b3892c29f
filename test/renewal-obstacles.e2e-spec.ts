// A service of its own: it has proxies that no order bought.
import type { EntityManager } from 'typeorm';
import { Money } from '../src/common';
import {
  type RenewalCandidate,
  decideRenewals,
  renewalDueAt,
  renewalDueAtSql,
  firstObstacle,
  type RenewalFunds,
  monthOf,
  COMMON_OBSTACLES,
  PROXY_OBSTACLES,
} from '../src/renewals/renewal-decision';
import { forAllTests } from './support/fixtures';
import { insertProxies } from './support/proxy-rows';
import { SeededRandom } from './support/seeded-random';
import { startTestService } from './support/test-service';

const CASES = 150;
const BALANCE = '12.00';

/** SQL about the proxy `$1`. */
const FORBIDDING = {
  paused: `UPDATE renewal_settings SET paused_at = now(), paused_reason = 'test'
            WHERE user_id = (SELECT user_id FROM proxies WHERE id = $1)`,
  allPaused: `UPDATE renewals_pause SET paused_at = now(), paused_reason = 'test'
               WHERE EXISTS (SELECT FROM proxies WHERE id = $1)`,
  blocked: `UPDATE users SET blocked_at = now(), blocked_reason = 'test'
             WHERE id = (SELECT user_id FROM proxies WHERE id = $1)`,
  'closed-for-maintenance': 'INSERT INTO maintenance (begun_at) SELECT now() FROM proxies WHERE id = $1',
  withdrawn: 'UPDATE proxies SET withdrawn_at = now(), absences = 2 WHERE id = $1',
  refunding: `INSERT INTO proxy_refunds (proxy_id, user_id, last_order_id)
              SELECT id, user_id, order_id FROM proxies WHERE id = $1`,
  ordered: `INSERT INTO orders (user_id, kind, order_reference, country, version, period, count, proxy_type,
                                proxy_id, unit_price, hold_amount, provider, provider_price, queued_until,
                                next_search_at)
            SELECT user_id, 'prolongation', gen_random_uuid(), country, version, 30, 1, proxy_type, id, 1, 1,
                   provider, 1, now(), now()
              FROM proxies WHERE id = $1`,
} as const;
type Forbidding = keyof typeof FORBIDDING;

interface Case {
  readonly price: string;
  readonly forbidding: readonly Forbidding[];
  readonly maxPrice: string | null;
  readonly budget: string | null;
  /** Charged for other renewals this month. */
  readonly spent: string;
}
let proxyId: number;
let spentId: number;
const service = forAllTests(startTestService);
const user = forAllTests(() => service.createUser({ balance: BALANCE }));
beforeAll(async () => {
  [proxyId = 0, spentId = 0] = await insertProxies(service.owner, user.id, 2);
});

async function rolledBack<Result>(work: (manager: EntityManager) => Promise<Result>): Promise<Result> {
  const runner = service.owner.createQueryRunner();
  await runner.startTransaction();
  try {
    return await work(runner.manager);
  } finally {
    await runner.rollbackTransaction();
    await runner.release();
  }
}

/** Runs the job's and the placement's checks for the renewal. */
const queryDatabase = ({ price, forbidding, maxPrice, budget, spent }: Case) =>
  rolledBack(async (manager) => {
    const query = async <Row>(statement: string, parameters: unknown[]): Promise<Row> => {
      const [row] = await manager.query<Row[]>(statement, parameters);
      if (row === undefined) throw new Error('no row');
      return row;
    };
    const { id: ruleId } = await query<{ id: number }>(
      'INSERT INTO renewal_rules (user_id, period, max_price) VALUES ($1, 30, $2) RETURNING id',
      [user.id, maxPrice],
    );
    await manager.query('INSERT INTO renewal_settings (user_id, monthly_budget) VALUES ($1, $2)', [
      user.id,
      budget,
    ]);
    await manager.query(
      `INSERT INTO renewals (proxy_id, date_end_before, user_id, rule_id, order_id, state, period, price,
                             due_at, charged_at)
       SELECT id, date_end, user_id, $2, order_id, 'done', 30, $3, now(), now() FROM proxies WHERE id = $1`,
      [spentId, ruleId, spent],
    );
    const renewal = await query<{ id: number; dateEnd: Date }>(
      `INSERT INTO renewals (proxy_id, date_end_before, user_id, rule_id, period, due_at, next_try_at)
       SELECT id, date_end, user_id, $2, 30, now(), now() FROM proxies WHERE id = $1
       RETURNING id, date_end_before AS "dateEnd"`,
      [proxyId, ruleId],
    );
    for (const name of forbidding) await manager.query(FORBIDDING[name], [proxyId]);
    const { available, budgetLeft, obstacles, unpriced } = await query<{
      available: string;
      budgetLeft: string | null;
      obstacles: string[];
      unpriced: string[];
    }>(
      `SELECT available, "budgetLeft", renewal_obstacles($1, $2, $3, available, "budgetLeft") AS obstacles,
              renewal_obstacles($1, NULL, NULL, NULL, NULL) AS unpriced
         FROM (SELECT available, monthly_budget - renewals_spent(user_id, $4) AS "budgetLeft"
                 FROM accounts JOIN renewal_settings USING (user_id) WHERE user_id = $5) AS funds`,
      [renewal.id, ruleId, price, monthOf(new Date()), user.id],
    );
    const order = {
      user_id: user.id,
      renewal_id: renewal.id,
      rule_id: ruleId,
      kind: 'prolongation',
      country: 'ru',
      version: '6',
      period: 30,
      count: 1,
      proxy_type: 'http',
      proxy_id: proxyId,
      unit_price: price,
      hold_amount: price,
      max_price: maxPrice,
      markup_percent: 20,
      provider: 'test',
      provider_price: '8.00',
      wait_seconds: 60,
    };
    const placed = await query<{ obstacle: string | null }>('SELECT obstacle FROM place_renewals($1, $2)', [
      JSON.stringify([order]),
      [user.id],
    ]);
    const money = (text: string | null): Money | null => (text === null ? null : Money.parse(text));
    const funds: RenewalFunds = {
      now: new Date(),
      available: Money.parse(available),
      budgetLeft: money(budgetLeft),
      obstacle: firstObstacle(COMMON_OBSTACLES, unpriced),
    };
    const candidate: RenewalCandidate = {
      proxyId,
      dateEnd: renewal.dateEnd,
      maxPrice: money(maxPrice),
      price: Money.parse(price),
      obstacle: firstObstacle(PROXY_OBSTACLES, unpriced),
    };
    return { funds, candidate, obstacles, placed: placed.obstacle };
  });

describe('The obstacles of a renewal', () => {
  it('are the same to the decision and to the statement that places orders', async () => {
    const random = new SeededRandom(20261124);
    const seen = new Set<string | null>();
    for (let n = 0; n < CASES; n += 1) {
      const one: Case = {
        price: random.pick(['10.00', '10.00', BALANCE, '12.01']),
        forbidding: (Object.keys(FORBIDDING) as Forbidding[]).filter(() => random.chance(0.12)),
        maxPrice: random.pick([null, '9.99', '10.00', '30.00']),
        budget: random.pick([null, null, '0.00', '20.00', '25.00', '30.00']),
        spent: random.pick(['0.00', '4.50', '15.00', '15.01', '2.01']),
      };
      const { funds, candidate, obstacles, placed } = await queryDatabase(one);
      const [decision] = decideRenewals(funds, [candidate]);
      const reason = decision?.renew === false ? decision.reason : null;
      seen.add(reason);
      expect({ one, obstacle: obstacles[0] ?? null, placed }).toEqual({
        one,
        obstacle: reason,
        placed: reason,
      });
    }
    expect([...seen].map(String).sort()).toEqual([
      'balance-short',
      'budget-used-up',
      'closed-for-maintenance',
      'null',
      'order-open',
      'paused',
      'price-above-max',
      'proxy-withdrawn',
      'refund-open',
      'user-blocked',
    ]);
  });
});

describe('A renewal', () => {
  it('is due when the statement that plans it says, too', async () => {
    const random = new SeededRandom(20261124);
    const cases = Array.from({ length: 500 }, () => ({
      dateEnd: new Date(Date.UTC(2026, 0, 1) + random.integer(0, 3 * 366 * 86_400) * 1000),
      hoursBefore: random.integer(2, 168),
    }));
    const rows = await service.owner.query<{ dueAt: Date }[]>(
      `SELECT ${renewalDueAtSql('date_end', 'hours_before')} AS "dueAt"
         FROM unnest($1::timestamptz[], $2::integer[]) AS one (date_end, hours_before)`,
      [cases.map(({ dateEnd }) => dateEnd), cases.map(({ hoursBefore }) => hoursBefore)],
    );
    expect(rows.map((row) => row.dueAt)).toEqual(
      cases.map(({ dateEnd, hoursBefore }) => renewalDueAt(dateEnd, hoursBefore)),
    );
  });
});
