import { AppConfig } from '../src/config';
import { fetchAs, outcomeOf } from './support/api-client';
import { eventually } from './support/built-service';
import { startDatabaseRelay } from './support/database-relay';
import { forAllTests, forEachTest } from './support/fixtures';
import { startReplica } from './support/replica';
import { createStaff } from './support/staff';
import { countWaiting, lockRow } from './support/table-lock';
import { startTestService, testUser } from './support/test-service';

const CLAIM = 'WITH waiting AS (';

describe('When the connection to the database is lost', () => {
  // The tests lock whole tables, and each replica sends only its own orders.
  const service = forAllTests(() => startTestService({ jobIntervalsMs: { 'dispatch-orders': 600_000 } }));
  const relay = forAllTests(() =>
    startDatabaseRelay(service.app.get<unknown, AppConfig>(AppConfig).database.url),
  );
  const replica = forAllTests(() => startReplica(service, { database: { url: relay.url } }));
  const user = forEachTest(() => service.createUser({ balance: '500.00' }));
  const there = forEachTest(() => testUser(replica.baseUrl, user.id, user.token));
  const clerk = forAllTests(() => createStaff(service));

  async function credit(key: string): Promise<[status: number, isReplay: boolean]> {
    const url = `${replica.baseUrl}/staff/users/${user.id}/credit`;
    const body = { amount: '1.00', reason: 'test' };
    const response = await fetchAs(clerk, 'POST', url, body, { 'Idempotency-Key': key });
    return [response.status, response.headers.get('Idempotency-Replayed') === 'true'];
  }

  const orders = (): Promise<{ state: string }[]> =>
    service.owner.query('SELECT state FROM orders WHERE user_id = $1 ORDER BY id', [user.id]);

  async function whileLocked<Result>(lock: string, work: () => Promise<Result>): Promise<Result> {
    const held = await lockRow(service.owner, lock);
    try {
      return await work();
    } finally {
      await held.release();
    }
  }

  it.each([
    ['the account', () => `SELECT FROM accounts WHERE user_id = ${user.id} FOR UPDATE`],
    ['the table of orders', () => 'LOCK TABLE orders IN SHARE MODE'],
  ])('the reservation waits for %s: who is refused is not charged', async (_, lock) => {
    const cut = relay.catchNext({ statement: 'place_orders', moment: 'waiting', action: 'cut' });
    const refused = await whileLocked(lock(), async () => {
      const pending = there.buy();
      await cut.reached;
      return pending;
    });
    expect(outcomeOf(refused)).toEqual([503, { detail: 'Service temporarily unavailable' }]);
    expect(await orders()).toEqual([]);

    // A client without a key retries, and pays once.
    const { data } = await there.buy();
    expect(await orders()).toEqual([{ state: 'completed' }]);
    expect(Number((await service.balanceOf(user)).available)).toBe(500 - Number(data?.price_charged));
    await service.audit({ withProvider: true });
  });

  it('the reservation was committed: its order is found, delivered and returned', async () => {
    const cut = relay.catchNext({ statement: 'place_orders', moment: 'after', action: 'cut' });
    const pending = there.buy();
    await cut.reached;
    expect([(await pending).response.status, await orders()]).toEqual([200, [{ state: 'completed' }]]);
  });

  it('the reservation of a prolongation waits: who is refused is not charged, and may retry', async () => {
    const proxyId = (await user.buy()).data?.proxies[0]?.id ?? '';
    const prolong = () => there.prolong(proxyId);
    const cut = relay.catchNext({ statement: 'place_orders', moment: 'waiting', action: 'cut' });
    const { error } = await whileLocked('LOCK TABLE orders IN SHARE MODE', async () => {
      const pending = prolong();
      await cut.reached;
      return pending;
    });
    expect(error).toEqual({ detail: 'Service temporarily unavailable' });
    expect((await prolong()).response.status).toBe(200);
    expect(await orders()).toEqual([{ state: 'completed' }, { state: 'completed' }]);
    await service.audit({ withProvider: true });
  });

  it('the claim waits: it is never committed, and the order is claimed again and bought once', async () => {
    const placed = relay.catchNext({ statement: 'place_orders', moment: 'after', action: 'hold' });
    const cut = relay.catchNext({ statement: CLAIM, moment: 'waiting', action: 'cut' });
    const nextClaim = relay.catchNext({ statement: CLAIM, moment: 'before', action: 'hold' });
    const pending = there.buy();
    await placed.reached;
    await whileLocked('LOCK TABLE orders IN EXCLUSIVE MODE', async () => {
      placed.letGo();
      await cut.reached;
      await eventually(async () => (await countWaiting(service.owner, 'WITH waiting')) === 0);
    });
    nextClaim.letGo();
    expect([(await pending).response.status, await orders()]).toEqual([200, [{ state: 'completed' }]]);
    expect((await service.balanceOf(user)).held).toBe('0.00');
    await service.audit({ withProvider: true });
  });

  it('the response to a settlement is lost: the call is recorded once, and the order returns', async () => {
    const cut = relay.catchNext({ statement: 'INSERT INTO proxies', moment: 'after', action: 'cut' });
    const pending = there.buy();
    await cut.reached;
    expect((await pending).response.status).toBe(200);
    const records: unknown = await service.owner.query(
      `SELECT method FROM provider_calls c JOIN orders ON orders.id = order_id
        WHERE user_id = $1 AND method = 'buy'`,
      [user.id],
    );
    expect(records).toEqual([{ method: 'buy' }]);
    await service.audit({ withProvider: true });
  });

  it.each([
    ['before', false],
    ['after', true],
  ] as const)(
    'just %s the COMMIT of a credit: the response is 503, and a retry with the key is executed once',
    async (moment, isReplay) => {
      relay.catchNext({ statement: 'COMMIT\0', moment, action: 'cut' });
      expect(await credit(moment)).toEqual([503, false]);
      expect(await credit(moment)).toEqual([200, isReplay]);
      expect((await service.balanceOf(user)).available).toBe('501.00');
      await service.audit();
    },
  );

  it('the COMMIT of a credit waits: once it has a response, it is never executed', async () => {
    await service.owner.query(`
      CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_advisory_xact_lock(77); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER waiting AFTER INSERT ON audit_log DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION wait_for_test()`);
    const cut = relay.catchNext({ statement: 'COMMIT\0', moment: 'waiting', action: 'cut' });
    const response = await whileLocked('SELECT pg_advisory_xact_lock(77)', async () => {
      const pending = credit('waiting');
      await cut.reached;
      return pending;
    });
    expect(response).toEqual([503, false]);
    expect((await service.balanceOf(user)).available).toBe('500.00');

    expect(await credit('waiting')).toEqual([200, false]);
    expect((await service.balanceOf(user)).available).toBe('501.00');
  });
});
