import { TokensService } from '../src/auth';
import { Notifier } from '../src/database';
import { EVENT_TYPES, type EventType, EVENTS_CHANNEL } from '../src/events';
import { EventPageReader } from '../src/events/reading/event-page-reader';
import { OrderCancellations, OutcomeSearchRecords } from '../src/orders';
import { ORDER_FAILURES, errorOfFailure } from '../src/orders/order-failures';
import { fetchAs } from './support/api-client';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { leaveOrderOpen } from './support/open-order';
import { SeededRandom } from './support/seeded-random';
import { createStaff } from './support/staff';
import { connectClient } from './support/test-database';
import { startTestService, type TestUser } from './support/test-service';
import { startWebhookReceiver, TEST_SECRET } from './support/webhook-receiver';

interface Logged {
  readonly type: EventType;
  readonly data: Record<string, unknown>;
}

// The tests change proxies and balances without orders, and sweeps read them.
const service = forAllTests(startTestService);
beforeClosing(() => service.audit());
const user = forEachTest(() => service.createUser());
afterEach(() => service.control.resetFaults());

let keys = 0;
const query = <Row>(text: string, parameters: unknown[] = []) =>
  service.dataSource.query<Row[]>(text, parameters);
/** The user's events, without the credit and the token that every user begins with. */
const loggedFor = async ({ id }: TestUser): Promise<[type: string, data: object][]> =>
  (await query<Logged>('SELECT type, data FROM events WHERE user_id = $1 ORDER BY id OFFSET 2', [id])).map(
    ({ type, data }) => [type, data],
  );
const order = (state: string, data: object) =>
  [
    `order.${state}`,
    { kind: 'purchase', state, count: 1, delivered: 0, price: '0.00', reason: null, ...data },
  ] as const;

async function buy(count = 1) {
  const { data } = await user.buy({ count });
  if (!data) throw new Error('nothing was bought');
  return { orderId: data.order_id, price: data.price_charged, proxies: data.proxies };
}
const idOfOrder = async (): Promise<number> =>
  (await query<{ id: number }>('SELECT max(id) AS id FROM orders WHERE user_id = $1', [user.id]))[0]?.id ?? 0;

const PUT_IN = `
  INSERT INTO orders (id, user_id, kind, state, order_reference, country, version, period, count, proxy_type,
                      proxy_id, unit_price, hold_amount, released, provider, provider_price, sent_before,
                      next_search_at, closed_at, failure)
  SELECT $3::bigint + row_number() OVER (), $1, kind, 'canceled', gen_random_uuid(), 'ru', '6', 30, 1, 'http',
         CASE kind WHEN 'prolongation' THEN (SELECT min(id) FROM proxies) END, 10, 10, 10, 'test', 8, now(),
         now(), now(), failure
    FROM unnest('{purchase,prolongation}'::text[]) AS kind, unnest($2::text[]) AS failure`;

describe('An event is written', () => {
  it('when an order is completed, partial or canceled', async () => {
    const bought = await buy(2);
    await service.control.addFault({ method: 'buy', kind: 'short-list', shortBy: 1 });
    const partial = await buy(2);
    await service.control.addFault({ method: 'buy', kind: 'error', errorId: 300 });
    await user.buy();
    const [own = { id: '' }] = bought.proxies;
    const { data: prolonged } = await user.prolong(own.id);
    const canceled = Number(prolonged?.order_id) - 1;
    expect(await loggedFor(user)).toEqual([
      order('completed', { order_id: bought.orderId, count: 2, delivered: 2, price: bought.price }),
      order('partial', { order_id: partial.orderId, count: 2, delivered: 1, price: partial.price }),
      order('canceled', { order_id: canceled, reason: 'not-enough-proxies' }),
      order('completed', {
        order_id: prolonged?.order_id,
        kind: 'prolongation',
        delivered: 1,
        price: prolonged?.price_charged,
      }),
      [
        'proxy.prolonged',
        {
          proxy_id: own.id,
          date_end_before: new Date(bought.proxies[0]?.date_end ?? '').toISOString(),
          date_end: new Date(prolonged?.proxy.date_end ?? '').toISOString(),
        },
      ],
    ]);
  });

  it('once when the outcome of an order is not known, with any later outcome', async () => {
    await leaveOrderOpen(service, user);
    const orderId = await idOfOrder();
    const beingConfirmed = order('being_confirmed', { order_id: orderId });
    await eventually(async () => (await loggedFor(user)).length === 1);
    await service.app.get(OutcomeSearchRecords).sendToReview([orderId], 'test');
    expect(await loggedFor(user)).toEqual([beingConfirmed]);
    await service.app.get(OrderCancellations).cancelOrders([orderId], 'staff', ['review']);
    expect(await loggedFor(user)).toEqual([
      beingConfirmed,
      order('canceled', { order_id: orderId, reason: 'unavailable' }),
    ]);
  });

  it('with a reason as fine as in the response to the order', async () => {
    const failures = [...ORDER_FAILURES, 'a reason of a newer version', null];
    await buy();
    const runner = service.owner.createQueryRunner();
    await runner.startTransaction();
    await runner.query(PUT_IN, [user.id, failures, 1_000_000_000]);
    const rows = (await runner.query(
      `SELECT kind, failure, data->>'reason' AS reason FROM events
         JOIN orders ON orders.id = (data->>'order_id')::bigint WHERE orders.id > 1000000000`,
    )) as { kind: 'purchase' | 'prolongation'; failure: string | null; reason: string }[];
    await runner.rollbackTransaction();
    await runner.release();
    expect(rows).toHaveLength(2 * failures.length);
    const texts = new Map<string, string>();
    for (const { kind, failure, reason } of rows) {
      const text = errorOfFailure(kind, failure).message;
      expect([reason, texts.get(reason) ?? text]).toEqual([reason, text]);
      texts.set(reason, text);
    }
    expect([...texts.keys()].sort()).toEqual(
      [
        'cannot-be-prolonged',
        'country-not-sold',
        'not-enough-proxies',
        'period-not-sold',
        'unavailable',
      ].sort(),
    );
    expect(new Set(texts.values()).size).toBe(texts.size);
  });

  it('when a proxy moves, is prolonged, is withdrawn or expires, and never for a label', async () => {
    const { proxies } = await buy();
    const [{ id } = { id: '' }] = proxies;
    const providerId = await service.providerIdOf(id);
    const sweep = () => service.runJob('sweep');
    const endsIn = async (seconds: number) => {
      const unixtimeEnd = Math.floor(Date.now() / 1000) + seconds;
      await service.control.changeProxy(providerId, { unixtimeEnd });
      await sweep();
      return new Date(unixtimeEnd * 1000).toISOString();
    };
    await service.control.changeProxy(providerId, { host: '127.0.0.9', port: 4321 });
    await sweep();
    const before = await endsIn(40 * 86_400);
    await endsIn(40 * 86_400 + 3600);
    await query(`UPDATE proxies SET label = 'x', tags = '{y}', absences = 1, login = 'other' WHERE id = $1`, [
      id,
    ]);
    await query('UPDATE proxies SET withdrawn_at = now(), active = false, absences = 2 WHERE id = $1', [id]);
    await sweep();
    const end = (await query<{ end: Date }>('SELECT date_end AS end FROM proxies WHERE id = $1', [id]))[0]
      ?.end;
    await query(`UPDATE proxies SET date_end = now() - interval '1 second' WHERE id = $1`, [id]);
    await service.runJob('active-flags');
    expect((await loggedFor(user)).slice(1)).toEqual([
      ['proxy.moved', { proxy_id: id }],
      [
        'proxy.prolonged',
        {
          proxy_id: id,
          date_end: before,
          date_end_before: new Date(proxies[0]?.date_end ?? '').toISOString(),
        },
      ],
      ['proxy.withdrawn', { proxy_id: id, date_end: end?.toISOString() }],
      ['proxy.expired', { proxy_id: id, date_end: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) }],
    ]);
    await endsIn(86_400);
  });

  it('when money comes to a balance, and when the balance falls below the threshold', async () => {
    const staff = await createStaff(service);
    const key = () => ({ 'Idempotency-Key': `${user.id}-${(keys += 1)}` });
    await query('UPDATE accounts SET low_balance = 10020 WHERE user_id = $1', [user.id]);
    expect(await loggedFor(user)).toEqual([]);
    await staff.post(`/staff/users/${user.id}/credit`, { amount: '30', reason: 'secret' }, key());
    const { orderId, price } = await buy();
    await staff.post(`/staff/orders/${orderId}/refund`, { amount: '2.50', reason: 'secret' }, key());
    await staff.post(`/staff/users/${user.id}/debit`, { amount: '1', reason: 'secret' }, key());
    const left = (10_030 - Number(price)).toFixed(2);
    expect(await loggedFor(user)).toEqual([
      ['balance.credited', { seq: 2, order_id: null, amount: '30.00', available: '10030.00' }],
      ['balance.low', { available: left, threshold: '10020.00' }],
      order('completed', { order_id: orderId, delivered: 1, price }),
      [
        'balance.refunded',
        { seq: 5, order_id: orderId, amount: '2.50', available: (Number(left) + 2.5).toFixed(2) },
      ],
    ]);
  });

  it('when a token is issued or revoked, and not when it is used', async () => {
    const tokens = service.app.get(TokensService);
    const { token } = await tokens.issue({ userId: user.id, scopes: ['profile:read'], name: 'bot' });
    await tokens.revoke(token.id);
    await tokens.revoke(token.id);
    await user.api.GET('/me');
    const data = { token_id: token.id, name: 'bot', scopes: ['profile:read'] };
    expect(await loggedFor(user)).toEqual([
      ['token.created', data],
      ['token.revoked', data],
    ]);
  });

  it('with data of the fields that customers see, and no login, password or token', async () => {
    const { proxies } = await buy();
    const events = await query<Logged>('SELECT type, data FROM events');
    const kindOf = (value: unknown) => (Array.isArray(value) ? 'array' : typeof value);
    for (const { type, data } of events) {
      const { example, data: fields } = EVENT_TYPES[type];
      expect([type, Object.keys(data).sort()]).toEqual([type, Object.keys(example).sort()]);
      expect([type, Object.keys(fields).sort()]).toEqual([type, Object.keys(example).sort()]);
      for (const [field, value] of Object.entries(data)) {
        const shown: unknown = Reflect.get(example, field);
        if (value === null || shown === null) continue;
        expect([type, field, kindOf(value)]).toEqual([type, field, kindOf(shown)]);
      }
    }
    const text = JSON.stringify(events);
    for (const secret of [proxies[0]?.login, proxies[0]?.password, user.token, 'secret']) {
      expect(text).not.toContain(secret);
    }
  });
});

describe('The event of a change', () => {
  it.each([
    ['an order', 'order.canceled', PUT_IN, () => [user.id, ['busy'], 1_000_000_000]],
    ['a proxy', 'proxy.moved', `UPDATE proxies SET host = 'elsewhere' WHERE user_id = $1`, () => [user.id]],
    [
      'a balance',
      'balance.credited',
      `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta) VALUES ($1, 'topup', 1, 0)`,
      () => [user.id],
    ],
    [
      'a token',
      'token.created',
      `INSERT INTO api_tokens (user_id, token_hash, scopes) VALUES ($1, '\\x00', '{}')`,
      () => [user.id],
    ],
  ])('of %s is rolled back with it', async (_, type, change, parameters) => {
    await buy();
    const before = await loggedFor(user);
    const client = await connectClient(service.databaseUrl);
    try {
      await client.query('BEGIN');
      await client.query(change, parameters());
      const { rows } = await client.query<Logged>(
        'SELECT type FROM events WHERE user_id = $1 ORDER BY id DESC LIMIT 1',
        [user.id],
      );
      expect(rows).toEqual([{ type }]);
      await client.query('ROLLBACK');
      expect(await loggedFor(user)).toEqual(before);
    } finally {
      await client.end();
    }
  });
});

describe('Published events', () => {
  const positionsOf = async (userId: number): Promise<{ n: number; position: number }[]> => {
    await query('SELECT publish_events(1000)');
    return query(
      `SELECT (data->>'n')::integer AS n, position FROM events
        WHERE user_id = $1 AND position IS NOT NULL AND data ? 'n' ORDER BY position`,
      [userId],
    );
  };
  const numbered = `
    INSERT INTO events (user_id, type, data)
    VALUES ($1, 'token.created', jsonb_build_object('n', $2::integer))`;
  const forget = () => service.owner.query(`DELETE FROM events WHERE data ? 'n'`);
  afterEach(forget);

  it('come after what was read before, when their transaction took a lower id and ended later', async () => {
    const slow = await connectClient(service.databaseUrl);
    await slow.query('BEGIN');
    await slow.query(numbered, [user.id, 1]);
    await query(numbered, [user.id, 2]);
    await eventually(async () => (await positionsOf(user.id)).length > 0);
    await slow.query('COMMIT');
    await slow.end();
    await eventually(async () => (await positionsOf(user.id)).length === 2);
    expect((await positionsOf(user.id)).map(({ n }) => n)).toEqual([2, 1]);
  });

  it('have positions after all that were given out, when ids are skipped after a restore', async () => {
    await query(numbered, [user.id, 1]);
    await eventually(async () => (await positionsOf(user.id)).length === 1);
    await query('SELECT skip_ids(5000)');
    await query(numbered, [user.id, 2]);
    await eventually(async () => (await positionsOf(user.id)).length === 2);
    const [one, two] = await positionsOf(user.id);
    expect((two?.position ?? 0) - (one?.position ?? 0)).toBeGreaterThan(5000);
  });

  it('are announced to every reader, soon after the commit and without anybody asking', async () => {
    const heard: (ReadonlySet<number> | undefined)[] = [];
    service.app.get(Notifier).listen(EVENTS_CHANNEL, (userIds) => heard.push(userIds));
    // A notification sent before the connection listens is lost.
    await eventually(async () => {
      await query(numbered, [user.id, 1]);
      return heard.some((userIds) => userIds?.has(user.id));
    });
  });

  it('reach a reader and a webhook although no process publishes or notifies after the commit', async () => {
    await eventually(async () => (await query('SELECT FROM events WHERE position IS NULL')).length === 0);
    const [receiver, other] = await Promise.all([startWebhookReceiver(), connectClient(service.databaseUrl)]);
    await service.owner.query(
      `INSERT INTO webhooks (user_id, url, secret, since_position)
       SELECT $1, $2, $3, max(position) FROM events`,
      [user.id, `${receiver.url}/unnotified`, TEST_SECRET],
    );
    await service.owner.query('REVOKE EXECUTE ON FUNCTION pg_notify FROM PUBLIC');
    try {
      const [newest] = await query<{ position: number }>('SELECT max(position) AS position FROM events');
      const read = fetchAs(user, 'GET', `${service.baseUrl}/events?after=evt_${newest?.position}&wait=20`);
      await eventually(() => service.app.get(EventPageReader).awaited.count() === 1);
      await service.owner.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND query = 'LISTEN changed_rows'`,
      );
      await other.query(numbered, [user.id, 1]);
      expect(await (await read).json()).toMatchObject({ items: [{ data: { n: 1 } }] });
      await eventually(() => receiver.of('/unnotified').length === 1);
    } finally {
      await service.owner.query('GRANT EXECUTE ON FUNCTION pg_notify TO PUBLIC');
      await other.end();
      await receiver.close();
    }
  });

  it('reach a reader once and in order, from three publishers and transactions of any length', async () => {
    const random = new SeededRandom(17);
    const users = await Promise.all(Array.from({ length: 6 }, () => service.createUser()));
    const EACH = 30;
    const writing = new AbortController();
    const seen: { id: number; n: number; userId: number; position: number }[] = [];
    const read = async (): Promise<void> => {
      seen.push(
        ...(await query<(typeof seen)[number]>(
          `SELECT id, (data->>'n')::integer AS n, user_id AS "userId", position FROM events
            WHERE position > $1 AND data ? 'n' ORDER BY position LIMIT 7`,
          [seen.at(-1)?.position ?? 0],
        )),
      );
    };
    /** One user's changes are sequential; those of different users overlap. */
    const write = async (userId: number): Promise<void> => {
      const client = await connectClient(service.databaseUrl);
      for (let n = 1; n <= EACH; n += 1) {
        await client.query('BEGIN');
        await client.query(numbered, [userId, n]);
        await client.query('SELECT pg_sleep($1)', [random.chance(0.1) ? 0.1 : 0.002]);
        await client.query(random.chance(0.1) ? 'ROLLBACK AND CHAIN' : 'SELECT');
        await client.query('COMMIT');
      }
      await client.end();
    };
    const publish = async () => {
      while (!writing.signal.aborted) await query('SELECT publish_events(3)');
    };
    const reading = Promise.all([
      publish(),
      publish(),
      (async () => {
        while (!writing.signal.aborted) await read();
      })(),
    ]);
    try {
      await Promise.all(users.map(({ id }) => write(id)));
      await eventually(
        async () => (await query(`SELECT FROM events WHERE position IS NULL AND data ? 'n'`)).length === 0,
      );
    } finally {
      writing.abort();
      await reading;
    }
    for (let before = -1; before < seen.length;) {
      before = seen.length;
      await read();
    }
    const written = await query<{ id: number }>(`SELECT id FROM events WHERE data ? 'n' ORDER BY id`);
    expect(written.length).toBeGreaterThan(users.length * EACH * 0.7);
    expect(seen.map(({ id }) => id).sort((a, b) => a - b)).toEqual(written.map(({ id }) => id));
    for (const { id } of users) {
      const own = seen.filter(({ userId }) => userId === id).map(({ n }) => n);
      expect(own).toEqual([...own].sort((a, b) => a - b));
    }
  });
});
