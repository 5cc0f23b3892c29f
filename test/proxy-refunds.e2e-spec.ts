import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { RequestLimits } from '../src/http';
import { ProxyRefundRecords, type RefundRule, RefundRules } from '../src/proxy-refunds';
import { MissingProxiesService } from '../src/sync';
import { TypeChangeService } from '../src/sync/type-change/type-change.service';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { insertUnmatchedProxy } from './support/proxy-rows';
import { runRenewals } from './support/renewals';
import { createStaff, type Staff } from './support/staff';
import { lockRow, untilWaiting } from './support/table-lock';
import { startTcpRelay } from './support/tcp-relay';
import { startTestService, type TestUser } from './support/test-service';

// There is an echo endpoint, the rule is on, and the sweep reads the proxies of all.
const relay = forAllTests(startTcpRelay);
const service = forAllTests(() =>
  startTestService({
    environment: { ECHO_URL: `http://127.0.0.1:${relay.port}/echo`, MAX_CONNECTIONS: '80' },
    // No check takes as long on a busy machine.
    tuning: { proxyCheckTimeoutMs: 60_000 },
  }),
);
beforeClosing(async () => {
  await service.runJob('sweep');
  await service.audit({ withProvider: true });
});

const RULE: RefundRule = {
  enabled: true,
  hours: 72,
  failed_checks: 2,
  minutes_between: 10,
  quota: 1000,
  quota_percent: 5,
  quota_sum: '0.00',
  versions: ['6', '4', '4s'],
  daily_sum: '100000.00',
};

let staff: Staff;
const user = forEachTest(() => service.createUser({ balance: '100000.00' }));

const query = <Row>(statement: string, parameters: readonly unknown[] = []): Promise<Row[]> =>
  service.owner.query<Row[]>(statement, [...parameters]);
const setRule = (changes: Partial<RefundRule> = {}) =>
  service.app.get(RefundRules).set({ ...RULE, ...changes }, service.dataSource);

beforeAll(async () => {
  relay.target = Number(new URL(service.baseUrl).port);
  staff = await createStaff(service);
  // Proxies to compare with, of another customer and at another host.
  const other = await service.createUser();
  const { data } = await other.buy({ count: 3, version: '4' });
  for (const { id } of data?.proxies ?? []) {
    await service.control.changeProxy(await service.providerIdOf(id), { host: 'localhost' });
  }
  await service.runJob('sweep');
});
beforeEach(async () => {
  await setRule();
  await query('DELETE FROM request_counts');
});

/** Buys proxies, as if a sweep had begun since. */
async function buy(count = 1, period = 30, type = 'http') {
  const { data } = await user.buy({ count, period, version: '4', proxy_type: type });
  await query(`UPDATE completed_sweeps SET began_at = clock_timestamp()
                WHERE began_at = (SELECT max(began_at) FROM completed_sweeps)`);
  return (data?.proxies ?? []).map(({ id }) => id);
}

const kill = async (id: string) => service.control.setProxyFault(await service.providerIdOf(id), 'close');

/** Buys a proxy that does not work. */
async function buyDead(period = 30, type = 'http'): Promise<string> {
  const [id = ''] = await buy(1, period, type);
  await kill(id);
  return id;
}

const call = async (method: 'POST' | 'GET', id: string, wait = 0, buyer: TestUser = user) => {
  const params = { path: { proxy_id: id } };
  const { data, error, response } =
    method === 'POST'
      ? await buyer.api.POST('/proxies/{proxy_id}/refund', { params })
      : await buyer.api.GET('/proxies/{proxy_id}/refund', { params: { ...params, query: { wait } } });
  return { status: response.status, data, error, retryAfter: response.headers.get('Retry-After') };
};
const request = async (id: string) => (await call('POST', id)).data;
/** Requests something while another replica begins a refund. */
async function whileBegunElsewhere<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
  const working = await service.owner.transaction(async (replica) => {
    await replica.query('SELECT begin_refund($1, $2, 10)', [user.id, id]);
    const begun = work();
    await untilWaiting(service.owner, 'begin_refund');
    return () => begun;
  });
  return working();
}
const read = async (id: string) => (await call('GET', id)).data;

/** Makes the next check due now, or several. Refunds of earlier tests are not due for minutes. */
async function check(times = 1): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await query(`UPDATE proxy_refunds SET next_check_at = now() WHERE state = 'checking' AND user_id = $1`, [
      user.id,
    ]);
    await service.runJob('proxy-refunds');
  }
}

/** Requests a refund, and has it decided as if enough checks had failed. */
async function requestProven(id: string): Promise<void> {
  await request(id);
  await query(
    `UPDATE proxy_refunds SET failures = '{closed,closed}' WHERE proxy_id = $1 AND state = 'checking'`,
    [id],
  );
  await check();
}

/** A refund as staff see it. */
async function shownToStaff(id: string) {
  const { body } = await staff.get<{
    items: { id: number; proxy_id: number; failures: string[]; failed_at: string[]; decide: string | null }[];
  }>('/staff/refunds');
  const shown = body.items.find(({ proxy_id: proxyId }) => proxyId === Number(id));
  if (!shown) throw new Error('there is no refund');
  return shown;
}
const failuresOf = async (id: string): Promise<number> => {
  const [row] = await query<{ count: number }>(
    'SELECT cardinality(failures) AS count FROM proxy_refunds WHERE proxy_id = $1',
    [id],
  );
  return row?.count ?? NaN;
};

const reasonOf = async (id: string): Promise<unknown> => {
  const [row] = await query<{ reason: unknown }>(
    'SELECT reason FROM proxy_refunds WHERE proxy_id = $1 ORDER BY id DESC LIMIT 1',
    [id],
  );
  return row?.reason;
};

const refundIdOf = async (proxyId: string): Promise<string> => {
  const [row] = await query<{ id: string }>('SELECT id FROM proxy_refunds WHERE proxy_id = $1', [proxyId]);
  return String(row?.id);
};
const orderOf = async (id: string): Promise<string> => {
  const [row] = await query<{ id: string }>('SELECT order_id AS id FROM proxies WHERE id = $1', [id]);
  return String(row?.id);
};
/** Number of calls that delete this proxy. */
async function deletionsOf(id: string): Promise<number> {
  const providerId = String(await service.providerIdOf(id));
  const calls = await service.control.getCalls('delete');
  return calls.filter(({ parameters }) => parameters['ids']?.split(',').includes(providerId)).length;
}
const unitPrice = async (id: string): Promise<number> => {
  const [row] = await query<{ price: string }>(
    'SELECT unit_price AS price FROM orders WHERE id = (SELECT order_id FROM proxies WHERE id = $1)',
    [id],
  );
  return Number(row?.price);
};
/** Of a proxy that was bought for 30 days a moment ago. */
const refundOf = async (id: string): Promise<string> =>
  (Math.floor((((await unitPrice(id)) * 29) / 30) * 100 + 1e-6) / 100).toFixed(2);

describe('A proxy that does not work', () => {
  it('is checked, refunded, withdrawn and deleted, once however often it is requested', async () => {
    const [dead = '', alive = ''] = await buy(2);
    await kill(dead);
    const amount = await refundOf(dead);
    const { available: before } = await service.balanceOf(user);
    expect(await read(dead)).toMatchObject({ state: 'none', code: null, amount, requested_at: null });
    const first = await call('POST', dead);
    expect(first).toMatchObject({ status: 202, data: { state: 'checking', amount, failed_checks: 0 } });
    expect(await request(dead)).toEqual(first.data);
    const waiting = call('GET', dead, 30);
    await service.runJob('proxy-refunds');
    // Right after the delivery, nothing is checked.
    expect(await read(dead)).toMatchObject({ state: 'checking', failed_checks: 0 });
    await check();
    // Customers do not see when the service checks.
    expect(await call('GET', dead)).toMatchObject({ data: first.data });
    expect(await shownToStaff(dead)).toMatchObject({
      failures: ['closed'],
      failed_at: [expect.any(String)],
      next_check_at: expect.any(String),
    });
    await check();
    expect((await waiting).data).toMatchObject({ state: 'refunded', amount, failed_checks: 2 });
    expect(await request(dead)).toEqual(await read(dead));
    expect((await service.balanceOf(user)).available).toBe((Number(before) + Number(amount)).toFixed(2));

    const { data: ledger } = await user.api.GET('/ledger');
    expect(ledger?.items[0]).toMatchObject({ kind: 'refund', available_delta: amount });
    const events = async () => (await user.api.GET('/events')).data?.items ?? [];
    await eventually(async () => (await events()).at(-1)?.type === 'proxy.refunded');
    expect((await events()).map(({ type }) => type).slice(-2)).toEqual([
      'balance.refunded',
      'proxy.refunded',
    ]);
    expect((await events()).at(-1)?.data).toMatchObject({ proxy_id: dead, amount });
    const { data: history } = await user.api.GET('/proxies/{proxy_id}/history', {
      params: { path: { proxy_id: dead } },
    });
    expect(history?.items.map(({ event }) => event)).toEqual(['refunded', 'bought']);
    const { data: list } = await user.api.GET('/proxies');
    expect(list?.map(({ id, active }) => [id, active])).toEqual([
      [dead, false],
      [alive, true],
    ]);

    expect((await user.prolong(dead)).error).toMatchObject({ detail: 'Proxy can no longer be prolonged' });
    const path = { params: { path: { proxy_id: dead } } };
    const refused = { detail: 'This proxy was refunded', code: 'proxy-refunded' };
    expect((await user.api.GET('/proxies/{proxy_id}/check', path)).error).toMatchObject(refused);
    const retyped = await user.api.PUT('/proxies/{proxy_id}/type', {
      ...path,
      body: { proxy_type: 'socks' },
    });
    expect(retyped.error).toMatchObject(refused);

    // The sweep does not return it, though it is still listed; deleting it is repeated until it is gone.
    await service.runJob('sweep');
    expect((await user.api.GET('/proxies')).data?.[0]?.active).toBe(false);
    await service.runJob('proxy-deletions');
    expect(await deletionsOf(dead)).toBe(1);
    await query('UPDATE proxy_refunds SET next_deletion_at = now() WHERE proxy_id = $1', [dead]);
    await service.runJob('proxy-deletions');
    await service.runJob('proxy-deletions');
    expect(await deletionsOf(dead)).toBe(2);
    expect((await service.runJob('sweep'))?.['implausible']).toBe(0);
    const { body } = await staff.get<{ items: object[] }>('/staff/refunds?state=refunded');
    expect(body.items[0]).toMatchObject({
      proxy_id: Number(dead),
      amount,
      failures: ['closed', 'closed'],
      failed_at: [expect.any(String), expect.any(String)],
      next_check_at: null,
      subnet: '127.0.0.0/24',
      deleted_at: expect.any(String),
    });
  });
});

it('The next check comes after a random time, from the minutes of the rule to twice as many', async () => {
  const dead = await buy(3);
  for (const id of dead) await kill(id);
  await Promise.all(dead.map(request));
  const minutesUntilNext = async (...ids: string[]) => {
    await query('UPDATE proxy_refunds SET next_check_at = now() WHERE proxy_id = ANY ($1)', [ids]);
    await service.runJob('proxy-refunds');
    const rows = await query<{ minutes: number }>(
      `SELECT extract(epoch FROM next_check_at - failed_at[cardinality(failed_at)])::float / 60 AS minutes
         FROM proxy_refunds WHERE proxy_id = ANY ($1)`,
      [ids],
    );
    return rows.map(({ minutes }) => minutes);
  };
  const minutes = await minutesUntilNext(...dead);
  expect(Math.min(...minutes)).toBeGreaterThanOrEqual(10);
  expect(Math.max(...minutes)).toBeLessThanOrEqual(20);
  expect(new Set(minutes).size).toBeGreaterThan(1);
  // All checks of a rule take place within a day.
  await setRule({ failed_checks: 20, minutes_between: 60 });
  expect(await minutesUntilNext(dead[0] ?? '')).toEqual([60]);
});

describe('A refund is refused', () => {
  it('if the proxy works, or if something else fails, and can be requested again', async () => {
    const [alive = '', unreachable = ''] = await buy(2);
    await service.control.setProxyFault(await service.providerIdOf(unreachable), 'unreachable');
    await request(alive);
    await request(unreachable);
    await check();
    expect(await request(alive)).toMatchObject({ state: 'refused', code: 'proxy-works' });
    expect(await read(unreachable)).toMatchObject({ state: 'refused', code: 'not-the-proxy' });
    await query(`UPDATE proxy_refunds SET closed_at = now() - interval '61 minutes' WHERE proxy_id = $1`, [
      alive,
    ]);
    expect(await read(alive)).toMatchObject({ state: 'none', code: null });
    expect(await request(alive)).toMatchObject({ state: 'checking', failed_checks: 0 });
  });

  it('as the rule says', async () => {
    const [id = ''] = await buy();
    const rules: readonly [code: string, rule: Partial<RefundRule>][] = [
      ['not-refundable', { enabled: false }],
      ['not-refundable', { versions: ['6'] }],
      ['refund-quota-used', { quota: 0, quota_percent: 0 }],
      ['refund-quota-used', { quota: 0, quota_percent: 99 }],
      ['refund-quota-used', { quota_sum: '0.01' }],
    ];
    for (const [code, rule] of rules) {
      await setRule(rule);
      expect(await read(id)).toMatchObject({ state: 'none', code, detail: expect.any(String) });
      expect(await call('POST', id)).toMatchObject({ status: 202, data: { state: 'refused', code } });
      expect(await reasonOf(id)).toBeUndefined();
    }
    const { quota_sum: _, ...others } = { ...RULE, hours: 48 };
    const { status, body } = await staff.change('PUT', '/staff/refund-rule', { ...others, reason: 'a test' });
    // If omitted, it stays.
    expect([status, body]).toEqual([200, { ...others, quota_sum: '0.01' }]);
    const stored = await staff.change('PUT', '/staff/refund-rule', { ...RULE, reason: 'a test' });
    expect([stored.status, stored.body]).toEqual([200, RULE]);
  });

  it('when its hours are over, and on the last day of a rental', async () => {
    const [late = '', ending = ''] = await buy(2);
    await query(`UPDATE proxies SET created_at = now() - interval '73 hours' WHERE id = $1`, [late]);
    await query(`UPDATE proxies SET date_start = now() - interval '29 days 1 second' WHERE id = $1`, [
      ending,
    ]);
    expect(await request(late)).toMatchObject({ state: 'refused', code: 'refund-period-over' });
    expect(await request(ending)).toMatchObject({ code: 'not-refundable', amount: '0.00' });
  });

  it('beyond the quota, however many are requested at once, also on another replica', async () => {
    const ids = await buy(4);
    const [first = '', second = ''] = ids;
    const amount = Number(await refundOf(first));
    const rules = [
      [{ quota: 3, quota_percent: 0 }, 3],
      [{ quota_sum: (2.5 * amount).toFixed(2) }, 2],
    ] as const;
    for (const [rule, most] of rules) {
      await setRule(rule);
      const refunds = await Promise.all(ids.map(request));
      expect(refunds.filter((refund) => refund?.state === 'checking')).toHaveLength(most);
      expect(refunds.filter((refund) => refund?.code === 'refund-quota-used')).toHaveLength(4 - most);
      await query(
        `UPDATE proxy_refunds SET state = 'refused', reason = 'proxy-works', next_check_at = NULL,
                closed_at = now() - interval '2 hours' WHERE state = 'checking' AND user_id = $1`,
        [user.id],
      );
    }
    await setRule({ quota: 1, quota_percent: 0 });
    const refused = await whileBegunElsewhere(first, () => request(second));
    expect(refused).toMatchObject({ state: 'refused', code: 'refund-quota-used' });
  });

  it('when others have used the quota that it had at the request', async () => {
    const [one = '', other = ''] = await buy(2);
    for (const id of [one, other]) await kill(id);
    await request(one);
    await request(other);
    await setRule({ quota: 1, quota_percent: 0 });
    // The last check of the other one has ended first.
    await query(
      `UPDATE proxy_refunds
          SET failures = '{closed,closed}', next_check_at = now() - proxy_id * interval '1 second'
        WHERE proxy_id = ANY ($1)`,
      [[one, other]],
    );
    await service.runJob('proxy-refunds');
    expect([await read(one), await read(other)]).toMatchObject([
      { state: 'refunded' },
      { state: 'refused', code: 'refund-quota-used' },
    ]);
  });

  it('for proxies of others and for none with 404, and while something of it is open with 409', async () => {
    const [id = ''] = await buy();
    const stranger = await service.createUser();
    for (const method of ['POST', 'GET'] as const) {
      expect((await call(method, id, 0, stranger)).status).toBe(404);
      expect((await call(method, 'none')).status).toBe(404);
    }
    await query(
      `INSERT INTO proxy_type_changes (proxy_id, attempt, attempt_until)
       VALUES ($1, gen_random_uuid(), now() + interval '1 minute')`,
      [id],
    );
    expect(await call('POST', id)).toMatchObject({ status: 409, retryAfter: '5' });
    await query('DELETE FROM proxy_type_changes WHERE proxy_id = $1', [id]);
  });
});

describe('A round of checks says nothing', () => {
  const progress = async (id: string) => [(await read(id))?.state, await failuresOf(id)];
  const undecided = ['checking', 0];

  it('while the echo endpoint is down, others fail, bounds are reached, or it is not confirmed', async () => {
    const id = await buyDead();
    await request(id);
    relay.target = 9;
    await check();
    expect(await progress(id)).toEqual(undecided);
    relay.target = Number(new URL(service.baseUrl).port);

    const controls = await query<{ id: string }>(`SELECT id FROM proxies WHERE host = 'localhost'`);
    const [, second, ...others] = await Promise.all(controls.map((row) => service.providerIdOf(row.id)));
    for (const dead of [second, ...others]) await service.control.setProxyFault(Number(dead), 'close');
    await check();
    expect(await progress(id)).toEqual(undecided);
    for (const other of others) await service.control.setProxyFault(other, null);

    const swept = await query<{ began_at: Date }>('SELECT began_at FROM completed_sweeps');
    await query(`UPDATE completed_sweeps SET began_at = began_at - interval '2 hours'`);
    await check();
    expect(await progress(id)).toEqual(undecided);
    expect(swept.length).toBeGreaterThan(0);
    await service.runJob('sweep');

    // With two of three others it says something.
    await check();
    expect(await progress(id)).toEqual(['checking', 1]);
    await service.control.setProxyFault(Number(second), null);
    await query(`UPDATE proxy_refunds SET requested_at = now() - interval '25 hours' WHERE proxy_id = $1`, [
      id,
    ]);
    await check();
    expect([await read(id), await reasonOf(id)]).toMatchObject([{ state: 'staff', code: null }, 'undecided']);
  });

  it('while a bound closes connections, unless the proxy failed before it needed one', async () => {
    // One closes the connection in the SOCKS handshake; the other may have sent the plain request on.
    const [early, late] = [await buyDead(30, 'socks'), await buyDead()];
    await request(early);
    await request(late);
    const failures = () => Promise.all([failuresOf(early), failuresOf(late)]);
    const sockets: Socket[] = [];
    /** Opens silent connections until one of them is closed. */
    const flood = async (...addresses: string[]) => {
      const closed = addresses.flatMap((localAddress) =>
        Array.from({ length: 41 }, () => {
          const socket = connect({
            port: Number(new URL(service.baseUrl).port),
            host: '127.0.0.1',
            localAddress,
          });
          sockets.push(socket.on('error', () => undefined));
          return new Promise((resolve) => void socket.once('close', resolve));
        }),
      );
      await Promise.race(closed);
      await check();
      for (const socket of sockets.splice(0)) socket.destroy();
      await Promise.all(closed);
      await query('DELETE FROM request_counts');
    };
    await flood('127.0.0.9');
    expect(await failures()).toEqual([1, 0]);
    await setRule({ failed_checks: 3 });
    await flood('127.0.0.8', '127.0.0.9');
    expect(await failures()).toEqual([2, 0]);
    service.app.get(RequestLimits).countFull('of-any');
    await check();
    expect(await failures()).toEqual([2, 0]);
    await query('DELETE FROM request_counts');
    await check();
    expect([await read(early), await failures()]).toMatchObject([{ state: 'refunded' }, [3, 1]]);
  });
});

it('A round compares with one proxy of each customer first, however many of one are dead', async () => {
  const [crowd, honest] = [await service.createUser(), await service.createUser()];
  for (const [buyer, count] of [
    [crowd, 10],
    [honest, 1],
  ] as const) {
    await buyer.buy({ count, version: '4' });
  }
  const id = await buyDead();
  await query(
    `UPDATE proxies SET host = 'localhost', port = CASE WHEN user_id = $1 THEN '9' ELSE port END
      WHERE user_id = ANY ($2)`,
    [crowd.id, [crowd.id, honest.id]],
  );
  await setRule({ failed_checks: 4 });
  await request(id);
  await check(3);
  expect(await failuresOf(id)).toBe(3);
  await service.runJob('sweep');
});

describe('The share that the rule refunded', () => {
  interface Shares {
    paid: string;
    refunded: string;
    customers: { user_id: number; paid: string; refunded: string; share_percent: string }[];
  }
  const shares = async (filter = '') => (await staff.get<Shares>(`/staff/refunds/shares${filter}`)).body;
  const percentOf = (refunded: string, paid: string) => ((100 * Number(refunded)) / Number(paid)).toFixed(1);

  it('is shown for all customers and for each one, without what staff decided', async () => {
    const before = await shares();
    const [byRule = '', byStaff = '', alive = ''] = await buy(3);
    for (const id of [byRule, byStaff]) await kill(id);
    await requestProven(byRule);
    await request(byStaff);
    await setRule({ enabled: false });
    await check();
    await staff.post(`/staff/refunds/${await refundIdOf(byStaff)}/decide`, {
      decision: 'refund',
      reason: 'a test',
    });
    const refunded = await refundOf(byRule);
    const paid = (3 * (await unitPrice(alive))).toFixed(2);
    const own = { user_id: user.id, paid, refunded, share_percent: percentOf(refunded, paid) };
    expect(await shares(`?user_id=${user.id}`)).toMatchObject({ customers: [own] });
    const after = await shares();
    expect(after.customers).toContainEqual(own);
    expect((Number(after.refunded) - Number(before.refunded)).toFixed(2)).toBe(refunded);
    expect((Number(after.paid) - Number(before.paid)).toFixed(2)).toBe(paid);
    expect(after).toMatchObject({ share_percent: percentOf(after.refunded, after.paid) });
    const sums = after.customers.map((one) => Number(one.refunded));
    expect(sums).toEqual([...sums].sort((one, other) => other - one));
    await query(`UPDATE proxy_refunds SET closed_at = now() - interval '31 days' WHERE proxy_id = $1`, [
      byRule,
    ]);
    expect(await shares(`?user_id=${user.id}`)).toMatchObject({ refunded: before.refunded, customers: [] });
  });
});

describe('A refund is left to staff', () => {
  async function decided(id: string): Promise<unknown> {
    await requestProven(id);
    expect(await read(id)).toMatchObject({ state: 'staff' });
    return reasonOf(id);
  }
  const decide = async (proxyId: string, decision: string, by = staff) =>
    by.post(`/staff/refunds/${await refundIdOf(proxyId)}/decide`, { decision, reason: 'a test' });

  it('if the check of the provider says that the proxy works', async () => {
    const [id = ''] = await buy();
    expect(await decided(id)).toBe('provider-disagrees');
    const shown = await shownToStaff(id);
    expect(shown.decide).toBe(`/staff/refunds/${shown.id}/decide?decision=refund`);
    expect(await decide(id, 'refuse')).toMatchObject({ status: 200, body: { state: 'refused' } });
    expect(await read(id)).toMatchObject({ state: 'refused', code: 'not-refundable' });
  });

  it('above the sum of a day, and staff refund all that it paid for, except to themselves', async () => {
    const [id = '', other = ''] = await buy(2);
    await kill(id);
    const amount = await refundOf(id);
    await setRule({ daily_sum: '0.01', quota_sum: amount });
    await request(id);
    await user.prolong(id);
    await service.runJob('sweep');
    expect(await decided(id)).toBe('daily-sum');
    // One with staff uses the quota until they have decided it.
    expect(await read(id)).toMatchObject({ amount });
    expect(await request(other)).toMatchObject({
      code: 'refund-quota-used',
      detail: expect.stringContaining(amount),
    });
    const { body: left } = await staff.get<{ items: { amount: string }[] }>('/staff/refunds?state=staff');
    expect(left.items[0]).toMatchObject({ amount_at_request: amount, is_prolonged_since: true });
    const own = await createStaff(service, ['staff:balance'], user.id);
    expect((await decide(id, 'refund', own)).status).toBe(403);
    expect(await decide(id, 'refund')).toMatchObject({ status: 200, body: { state: 'refunded' } });
    expect(await read(id)).toMatchObject({ state: 'refunded', amount: left.items[0]?.amount });
    expect(Number(left.items[0]?.amount)).toBeGreaterThan(Number(amount) * 1.9);
    expect(await read(other)).toMatchObject({ state: 'none', code: null });
    expect((await decide(id, 'refund')).status).toBe(409);
    const { body } = await staff.get<{ items: object[] }>('/staff/actions?action=refunds.decide');
    expect(body.items[1]).toMatchObject({ before: { state: 'staff' }, after: { state: 'refunded' } });
  });

  it('if staff have refunded a part, or disabled the rule; they return the rest, and list all', async () => {
    const id = await buyDead();
    const orderId = await orderOf(id);
    const amount = (await unitPrice(id)) - 0.5;
    await staff.post(
      `/staff/orders/${orderId}/refund`,
      { amount: amount.toFixed(2), reason: 'a test' },
      { 'Idempotency-Key': `part-${orderId}` },
    );
    expect(await decided(id)).toBe('refunded-by-staff');
    expect(await decide(id, 'refund')).toMatchObject({ body: { state: 'refunded', amount: '0.50' } });
    const other = await buyDead();
    await request(other);
    await setRule({ enabled: false });
    await check();
    expect(await reasonOf(other)).toBe('rule-disabled');
    await decide(other, 'refuse');
    const file = await staff.get<string>(
      '/staff/refunds/file?from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z',
    );
    const [head, ...lines] = file.body.split('\r\n');
    expect(head).toBe(
      'id,state,reason,user_id,proxy_id,provider_proxy_id,host,subnet,country,version,failures,amount,' +
        'requested_at,closed_at',
    );
    expect(lines.find((line) => line.split(',')[4] === other)).toMatch(
      /^\d+,refused,not-refundable,\d+,\d+,\d+,127\.0\.0\.1,127\.0\.0\.0\/24,ru,4,/,
    );
  });
});

describe('A refund races with', () => {
  const IN_REFUND = 'LATERAL refund_proxy';
  let id: string;
  let refundId: number;

  /** A refund that can be made now. */
  async function prepare(): Promise<void> {
    [id = ''] = await buy();
    await request(id);
    await findRefund();
  }
  async function findRefund(): Promise<void> {
    const [row] = await query<{ id: number }>('SELECT max(id) AS id FROM proxy_refunds WHERE proxy_id = $1', [
      id,
    ]);
    refundId = Number(row?.id);
  }
  beforeEach(prepare);
  // Nothing is left that a later test would check.
  afterEach(() =>
    query(`UPDATE proxy_refunds SET state = 'refused', reason = 'not-refundable', closed_at = now(),
                  next_check_at = NULL WHERE state IN ('checking', 'staff')`),
  );

  const refund = () => service.app.get(ProxyRefundRecords).refundByRule(refundId);
  const state = async () => (await read(id))?.state;
  const entries = () => query('SELECT FROM ledger_entries WHERE proxy_refund_id = $1', [refundId]);

  /** Starts both while somebody holds a lock, one after the other. */
  async function inTurn<First, Second>(
    locked: string,
    first: readonly [waitsIn: string, work: () => Promise<First>],
    second: readonly [waitsIn: string, work: () => Promise<Second>],
  ): Promise<[First, Second]> {
    const held = await lockRow(service.owner, locked);
    const one = first[1]();
    const other = untilWaiting(service.owner, first[0]).then(second[1]);
    try {
      await untilWaiting(service.owner, second[0]);
    } finally {
      await held.release();
    }
    return Promise.all([one, other]);
  }
  const account = () => `SELECT FROM accounts WHERE user_id = ${user.id} FOR UPDATE`;
  const proxy = () => `SELECT FROM proxies WHERE id = ${id} FOR NO KEY UPDATE`;
  const inRefund = () => [IN_REFUND, refund] as const;

  it('a prolongation, which it does not give back without a new request', async () => {
    const gate = await service.control.addGate({ method: 'prolong', stage: 'received' });
    const prolonging = user.prolong(id);
    await service.control.untilGateReached(gate);
    const { amount } = (await read(id)) ?? {};
    expect([await refund(), await state()]).toEqual(['open', 'checking']);
    await service.control.openGate(gate);
    expect((await prolonging).response.status).toBe(200);
    await query(
      `UPDATE proxies SET created_at = requested_at - interval '72 hours' + interval '1 millisecond'
         FROM proxy_refunds WHERE proxy_id = proxies.id AND proxies.id = $1`,
      [id],
    );
    await service.runJob('sweep');
    await kill(id);
    await requestProven(id);
    const refused = { state: 'refused', code: 'prolonged', amount, detail: expect.stringContaining('new') };
    expect(await read(id)).toMatchObject(refused);
    expect(await entries()).toEqual([]);

    // The hours after the delivery are those of the first request.
    expect(await request(id)).toMatchObject({ state: 'checking', failed_checks: 0 });
    expect(Number((await read(id))?.amount)).toBeGreaterThan(Number(amount));
    await service.control.addFault({ method: 'prolong', kind: 'error', errorId: 400 });
    expect((await user.prolong(id)).response.status).toBe(503);
    await service.control.resetFaults();
    await findRefund();
    const prolong = ['place_orders', () => user.prolong(id)] as const;
    const [done, refusal] = await inTurn(account(), inRefund(), prolong);
    expect([done, refusal.error]).toMatchObject([null, { detail: 'Proxy can no longer be prolonged' }]);
    // Both orders give back what is left of their days, and the one that bought nothing is ignored.
    expect(await entries()).toHaveLength(2);
  });

  it('a renewal, which is dropped', async () => {
    const [rule] = await query<{ id: string }>(
      'INSERT INTO renewal_rules (user_id, period) VALUES ($1, 30) RETURNING id',
      [user.id],
    );
    const [renewal] = await query<{ id: string }>(
      `INSERT INTO renewals (user_id, proxy_id, date_end_before, rule_id, period, due_at, next_try_at)
       SELECT user_id, id, date_end, $2, 30, now(), now() FROM proxies WHERE id = $1 RETURNING id`,
      [id, rule?.id],
    );
    const asked = [
      { user_id: user.id, renewal_id: Number(renewal?.id), rule_id: Number(rule?.id), hold_amount: 1 },
    ];
    const place = () =>
      service.dataSource.query<{ obstacle: string }[]>('SELECT * FROM place_renewals($1::jsonb, $2)', [
        JSON.stringify(asked),
        [user.id],
      ]);
    const [done, placed] = await inTurn(account(), inRefund(), ['place_renewals', place]);
    expect([done, placed]).toMatchObject([null, [{ id: null, obstacle: 'superfluous' }]]);
    expect(await query('SELECT FROM renewals WHERE proxy_id = $1', [id])).toEqual([]);
  });

  it('a renewal that is being placed: one waits for the other', async () => {
    const [renewed = '', dead = ''] = await buy(2, 7);
    await query('INSERT INTO renewal_rules (user_id, period, hours_before) VALUES ($1, 7, 168)', [user.id]);
    // The statement that places the renewals has locked the account when it waits for this row.
    const pause = 'SELECT FROM renewals_pause FOR UPDATE';
    const renew = ['place_renewals', () => runRenewals(service)] as const;
    await request(dead);
    const [, requested] = await inTurn(pause, renew, ['begin_refund', () => call('POST', renewed)]);
    expect(requested).toMatchObject({ status: 409, retryAfter: '5' });
    await service.untilSettled();
    const renewals = 'SELECT state, reason FROM renewals WHERE proxy_id = ANY ($1) ORDER BY proxy_id';
    expect(await query(renewals, [[renewed, dead]])).toMatchObject([
      { state: 'done' },
      { state: 'skipped', reason: 'refund-open' },
    ]);
  });

  it('a withdrawal by the sweep', async () => {
    await query('UPDATE proxies SET absences = 2 WHERE id = $1', [id]);
    await query('DELETE FROM sweep_sightings WHERE provider_proxy_id = $1', [
      String(await service.providerIdOf(id)),
    ]);
    const withdraw = [
      'WITH locked',
      () => service.app.get(MissingProxiesService).withdraw(service.dataSource),
    ] as const;
    const [count, obstacle] = await inTurn(proxy(), withdraw, inRefund());
    expect([count, obstacle]).toEqual([1, 'withdrawn']);
    await query('UPDATE proxies SET absences = 2, withdrawn_at = NULL WHERE id = $1', [id]);
    expect(await inTurn(proxy(), inRefund(), withdraw)).toEqual([null, 0]);
    expect(await state()).toBe('refunded');
  });

  it('a change of type', async () => {
    const retype = () =>
      user.api.PUT('/proxies/{proxy_id}/type', {
        params: { path: { proxy_id: id } },
        body: { proxy_type: 'socks' },
      });
    const gate = await service.control.addGate({ method: 'settype', stage: 'received' });
    const changing = retype();
    await service.control.untilGateReached(gate);
    expect(await refund()).toBe('open');
    await service.control.openGate(gate);
    expect((await changing).response.status).toBe(200);
    const change = [
      'INSERT INTO proxy_type_changes',
      () => service.app.get(TypeChangeService)['begin'](Number(id)),
    ] as const;
    const [done, begun] = await inTurn(account(), inRefund(), [change[0], () => change[1]().catch(String)]);
    expect([done, begun]).toEqual([null, expect.stringContaining('TypeChangeInProgress')]);
  });

  it('a refund by staff', async () => {
    const orderId = await orderOf(id);
    const byStaff = (amount: string) =>
      [
        'UPDATE orders SET refunded = refunded',
        () =>
          staff.post(
            `/staff/orders/${orderId}/refund`,
            { amount, reason: 'a test' },
            { 'Idempotency-Key': `race-${orderId}-${amount}` },
          ),
      ] as const;
    const inOrder = ['SELECT FROM orders', byStaff((await unitPrice(id)).toFixed(2))[1]] as const;
    const [done, refused] = await inTurn(account(), inRefund(), inOrder);
    expect([done, refused.status]).toEqual([null, 409]);
  });

  it('a refund by staff that comes first', async () => {
    const orderId = await orderOf(id);
    const byStaff = () =>
      staff.post(
        `/staff/orders/${orderId}/refund`,
        { amount: '0.01', reason: 'a test' },
        { 'Idempotency-Key': `first-${orderId}` },
      );
    const [posted, obstacle] = await inTurn(account(), ['refunded + $2', byStaff], inRefund());
    expect([posted.status, obstacle]).toEqual([200, 'refunded-by-staff']);
  });

  it('an assignment of another proxy to the same order', async () => {
    const orderId = await orderOf(id);
    const unmatched = await insertUnmatchedProxy(service.owner, `prs.race.u1.o${orderId}`);
    const assign = () =>
      staff.post(`/staff/unmatched-proxies/${unmatched}/assign`, {
        order_id: Number(orderId),
        reason: 'a test',
      });
    const [done, assigned] = await inTurn(account(), inRefund(), ['orders', assign]);
    expect([done, assigned.status]).toEqual([null, 200]);
    const [given] = await query<{ id: string }>(
      'SELECT id FROM proxies WHERE order_id = $1 AND assigned_action_id IS NOT NULL',
      [orderId],
    );
    // An assigned proxy was not paid for.
    expect(await read(String(given?.id))).toMatchObject({ state: 'none', code: 'not-refundable' });
    await query('UPDATE proxies SET date_end = now() WHERE id = $1', [given?.id]);
  });

  it('the same request and the same decision on another replica', async () => {
    const [second = ''] = await buy();
    expect(await whileBegunElsewhere(second, () => request(second))).toMatchObject({ state: 'checking' });
    expect(await query('SELECT FROM proxy_refunds WHERE proxy_id = $1', [second])).toHaveLength(1);
    // Each of two refunds is decided thrice at once, and the quota allows one.
    await setRule({ quota: 1, quota_percent: 0 });
    const [other] = await query<{ id: string }>('SELECT id FROM proxy_refunds WHERE proxy_id = $1', [second]);
    const decide = (of: number) => service.app.get(ProxyRefundRecords).refundByRule(of);
    const ids = [refundId, Number(other?.id)];
    const outcomes = await Promise.all([...ids, ...ids, ...ids].map(decide));
    expect(outcomes.filter((obstacle) => obstacle === null)).toHaveLength(1);
    expect(outcomes).toContain('refund-quota-used');
  });
});

it('Nothing but the deletion of refunded proxies deletes a proxy at the provider', () => {
  const sources = join(__dirname, '../src');
  const callers = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('sandbox'))
    .filter((path) => /deleteProxy\(|'delete',/.test(readFileSync(join(sources, path), 'utf8')));
  expect(callers.sort()).toEqual([
    'provider/proxy-provider.ts',
    'provider/px6/px6.provider.ts',
    'proxy-refunds/proxy-deletions.ts',
  ]);
});
