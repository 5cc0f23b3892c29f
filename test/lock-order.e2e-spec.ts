import { OutcomeSearchRecords } from '../src/orders/transitions/outcome-search-records';
import { RenewalRecords } from '../src/renewals/running/renewal-records';
import { MissingProxiesService } from '../src/sync';
import { forAllTests } from './support/fixtures';
import { insertUnmatchedProxy, insertProxies } from './support/proxy-rows';
import { createStaff } from './support/staff';
import { lockRow, untilWaiting } from './support/table-lock';
import { startTestService } from './support/test-service';

// The tests write rows without orders, sweep all users' proxies, and request checks.
/*
 * Statements lock several rows of a table in the order of their ids (`docs/architecture.md`). In these
 * tests, the rows lie in the opposite order, and somebody holds the first: the statement must lock no other.
 */
const service = forAllTests(() => startTestService({ tuning: { reconcileIntervalMs: 3_600_000 } }));
const user = forAllTests(() => service.createUser());

const query = <Row>(statement: string, parameters: readonly unknown[] = []): Promise<Row[]> =>
  service.owner.query<Row[]>(statement, [...parameters]);

const freeOf = async (table: string, ids: readonly number[]): Promise<number[]> => {
  const free = await query<{ id: number }>(
    `SELECT id FROM ${table} WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`,
    [ids],
  );
  return free.map(({ id }) => id);
};

/** @returns the rows that no session locks while the work waits for the first row */
async function freeWhileFirstIsHeld(
  table: 'proxies' | 'orders' | 'users' | 'renewals',
  ids: readonly number[],
  work: () => Promise<unknown>,
  waitsIn: string,
): Promise<number[]> {
  const held = await lockRow(
    service.owner,
    `SELECT FROM ${table} WHERE id = ${Math.min(...ids)} FOR NO KEY UPDATE`,
  );
  const working = work();
  await untilWaiting(service.owner, waitsIn);
  const free = await freeOf(table, ids);
  await held.release();
  await working;
  return free;
}

describe('Proxies are locked in the order of their ids by', () => {
  let ids: number[];

  beforeEach(async () => {
    await query('UPDATE proxies SET absences = 0, withdrawn_at = now()');
    const count = 4;
    const bought = await user.api.POST('/proxies/buy', { body: { country: 'ru', period: 30, count } });
    ids = (bought.data?.proxies ?? []).map(({ id }) => Number(id));
    for (const id of ids.toReversed()) await query('UPDATE proxies SET active = active WHERE id = $1', [id]);
  });

  const providerIds = async (): Promise<number[]> => {
    const rows = await query<{ id: number }>(
      'SELECT provider_proxy_id::bigint AS id FROM proxies WHERE id = ANY ($1)',
      [ids],
    );
    return rows.map(({ id }) => id);
  };
  const sweep = () => service.runJob('sweep');
  const miss = () => query('UPDATE proxies SET absences = 2 WHERE id = ANY ($1)', [ids]);

  it.each<[string, string, () => Promise<() => Promise<unknown>>]>([
    [
      'a change of labels',
      'WITH locked AS',
      () =>
        Promise.resolve(() =>
          user.api.PATCH('/proxies', {
            body: { proxy_ids: ids.map(String).toReversed(), descr: 'x' } as never,
          }),
        ),
    ],
    [
      'a sweep that takes over what has changed',
      'WITH changing AS',
      async () => {
        for (const id of await providerIds()) await service.control.changeProxy(id, { host: '127.0.0.9' });
        return sweep;
      },
    ],
    [
      'a sweep that counts absences',
      'WITH mark AS',
      async () => {
        for (const id of await providerIds()) await service.control.withdrawProxy(id);
        return sweep;
      },
    ],
    [
      'a sweep that withdraws what is missing',
      'WITH locked AS',
      async () => {
        await miss();
        await query('TRUNCATE sweep_sightings');
        return () => service.app.get(MissingProxiesService).withdraw(service.dataSource);
      },
    ],
    [
      'staff who withdraw what is missing',
      'WITH locked AS',
      async () => {
        await miss();
        const { manager } = service.dataSource;
        return () => service.app.get(MissingProxiesService).decide(ids.length, manager);
      },
    ],
    [
      'prolongations that are settled',
      'WITH member AS',
      () =>
        Promise.resolve(() =>
          user.api.POST('/proxies/prolong', {
            params: { header: { 'Idempotency-Key': `prolong ${ids[0]}`.replace(' ', '-') } },
            body: { proxy_ids: ids.map(String).toReversed(), period: 30 } as never,
          }),
        ),
    ],
  ])('%s', async (_, waitsIn, prepare) => {
    expect(await freeWhileFirstIsHeld('proxies', ids, await prepare(), waitsIn)).toEqual(ids.slice(1));
  });
});

it('Users are locked in the order of their ids when changes of their lists are counted', async () => {
  const ids = [user.id, (await service.createUser()).id, (await service.createUser()).id];
  for (const id of ids.toReversed()) await insertProxies(service.owner, id, 1);
  const change = () =>
    service.dataSource.query(`UPDATE proxies SET host = host || '.' WHERE user_id = ANY ($1)`, [ids]);
  expect(await freeWhileFirstIsHeld('users', ids, change, 'UPDATE proxies SET host')).toEqual(ids.slice(1));
});

describe('Renewals are locked in the order of their ids when', () => {
  let ids: number[];

  beforeEach(async () => {
    await query('DELETE FROM renewals');
    await query('UPDATE renewal_rules SET disabled_at = now() WHERE disabled_at IS NULL');
    await query('INSERT INTO renewal_rules (user_id, period) VALUES ($1, 30)', [user.id]);
    const rows = await query<{ id: number }>(
      `INSERT INTO renewals (user_id, proxy_id, date_end_before, rule_id, state, reason, period, price,
                             due_at, next_try_at)
       SELECT user_id, proxies.id, date_end, (SELECT max(id) FROM renewal_rules), 'skipped', 'balance-short',
              30, 1, date_end, now() + interval '1 hour'
         FROM proxies WHERE id = ANY ($1) ORDER BY date_end DESC RETURNING id`,
      [await Promise.all([6, 5, 4].map((days) => rentalThatEndsIn(days)))],
    );
    ids = rows.map(({ id }) => id);
    for (const id of ids.toReversed()) await query('UPDATE renewals SET period = 30 WHERE id = $1', [id]);
  });

  const rentalThatEndsIn = async (days: number): Promise<number | undefined> =>
    (await insertProxies(service.owner, user.id, 1, { endsInSeconds: days * 86_400 }))[0];
  const records = () => service.app.get(RenewalRecords);

  it.each<[string, string, () => Promise<() => Promise<unknown>>]>([
    [
      'they are planned anew, by another rule',
      'WITH page AS',
      async () => {
        await query(`UPDATE renewals SET state = 'planned'`);
        await query('INSERT INTO renewal_rules (user_id, period) VALUES ($1, 60)', [user.id]);
        return () => records().plan(null);
      },
    ],
    [
      'they are superfluous',
      'DELETE FROM renewals',
      async () => {
        await query('UPDATE renewal_rules SET disabled_at = now() WHERE disabled_at IS NULL');
        return () => records().removeSuperfluous();
      },
    ],
    ['they are removed', 'DELETE FROM renewals', async () => () => records().remove(ids.toReversed())],
    ['they are put off', 'UPDATE renewals', async () => () => records().putOff(ids.toReversed())],
    ['their user has money', 'UPDATE renewals', async () => () => records().retryUnblocked()],
  ])('%s', async (_, waitsIn, prepare) => {
    expect(await freeWhileFirstIsHeld('renewals', ids, await prepare(), waitsIn)).toEqual(ids.slice(1));
  });
});

it('Staff who assign an unmatched proxy lock the order first, as a settlement does', async () => {
  const staff = await createStaff(service);
  const { data } = await user.buy();
  const unmatchedProxy = await insertUnmatchedProxy(service.owner);
  const settling = await lockRow(service.owner, `SELECT FROM orders WHERE id = ${data?.order_id} FOR UPDATE`);
  const assigned = staff.post(`/staff/unmatched-proxies/${unmatchedProxy}/assign`, {
    order_id: data?.order_id,
    reason: 'test',
  });
  await untilWaiting(service.owner, 'SELECT user_id AS "userId"');
  const free = await query('SELECT FROM accounts WHERE user_id = $1 FOR UPDATE SKIP LOCKED', [user.id]);
  await settling.release();
  expect(free).toHaveLength(1);
  expect((await assigned).status).toBe(200);
});

describe('Due checks of a batch', () => {
  let ids: number[];

  beforeEach(async () => {
    await insertProxies(service.owner, user.id, 1);
    const rows = await query<{ id: number }>(
      `INSERT INTO orders (user_id, kind, state, order_reference, country, version, period, count,
         proxy_type, unit_price,
                           hold_amount, provider, provider_price, sent_before, next_search_at, submitted_at)
       SELECT $1, 'purchase', 'confirming', gen_random_uuid(), 'ru', '6', 30, 1, 'http', 1, 1, 'test', 1,
              now() - interval '1 hour', now() + interval '1 hour', now() - interval '1 hour'
         FROM generate_series(1, 4) RETURNING id`,
      [user.id],
    );
    ids = rows.map(({ id }) => id).sort((one, other) => one - other);
    for (const id of ids.toReversed()) {
      await query(`UPDATE orders SET batch_id = $2, next_search_at = now() + $3::interval WHERE id = $1`, [
        id,
        ids[0],
        id === ids[0] ? '1 hour' : '-1 second',
      ]);
    }
  });
  afterEach(() =>
    query(`UPDATE orders SET next_search_at = now() + interval '1 hour' WHERE state = 'confirming'`),
  );

  const claim = () => service.app.get(OutcomeSearchRecords).claimDueSearches(10);

  it('lock its members in the order of their ids', async () => {
    const members = ids.slice(1);
    expect(await freeWhileFirstIsHeld('orders', members, claim, 'WITH due AS')).toEqual(members.slice(1));
  });

  it('let the session that has locked a member record the call of the leader', async () => {
    const [leader, member] = ids;
    const settling = service.owner.createQueryRunner();
    await settling.startTransaction();
    await settling.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [member]);
    const claimed = claim();
    await untilWaiting(service.owner, 'WITH due AS');
    await settling.query(`SET LOCAL lock_timeout = '500ms'`);
    await settling.query(
      `INSERT INTO provider_calls (order_id, method, request, outcome, duration_ms)
       VALUES ($1, 'buy', '{}', 'ok', 1)`,
      [leader],
    );
    await settling.rollbackTransaction();
    await settling.release();
    expect((await claimed).batches).toHaveLength(1);
  });
});
