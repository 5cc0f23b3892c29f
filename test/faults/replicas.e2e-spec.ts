import { ALL_STAFF_SCOPES } from '../../src/auth';
import type { FaultSpec } from '../../src/sandbox';
import { fetchAs } from '../support/api-client';
import { BUILD_TIMEOUT_MS, type BuiltService, eventually, isRunning } from '../support/built-service';
import type { Caught } from '../support/database-relay';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { inLongForm } from '../support/long-form';
import { sendRaw } from '../support/raw-http';
import { type Customer, purchase, Replicas, send, sendUntilResponse } from '../support/replicas';

const REQUESTS = inLongForm(300, 60);
const CHANGES = inLongForm(50, 5);
const CLAIM = 'WITH waiting AS (';
const UNAVAILABLE = { detail: 'Service temporarily unavailable' };
const OUT_OF_STOCK = {
  fault: { method: 'buy', kind: 'error', errorId: 300 },
  body: { detail: 'Not enough proxies available' },
} as const;

describe('Two replicas on one database', () => {
  let one: BuiltService;
  let other: BuiltService;

  const replicas = forAllTests(() =>
    Replicas.open({ environment: { DB_POOL_SIZE: '4' }, tuning: { poolWaitMs: 1000 } }),
  );
  beforeAll(async () => {
    [one, other] = await Promise.all([replicas.start({ throughRelay: true }), replicas.start()]);
  }, BUILD_TIMEOUT_MS);
  beforeEach(async () => {
    if (!isRunning(one.pid)) one = await replicas.start({ throughRelay: true });
  });
  afterEach(async () => {
    await replicas.control.resetFaults();
    await replicas.untilSettled();
  });
  beforeClosing(() => replicas.audit());

  const soldTo = async ({ id }: Customer): Promise<number> =>
    (await replicas.control.getState()).sales.flatMap(({ descr, proxyIds }) =>
      descr.includes(`.u${id}.`) ? proxyIds : [],
    ).length;

  const holdClaim = (moment: 'before' | 'after'): Caught =>
    replicas.relay.catchNext({ statement: CLAIM, moment, action: 'hold' });

  /** Stops the other replicas, which might send the order, until this one is caught. */
  async function buyAlone(at: BuiltService, customer: Customer, reached: Promise<unknown>) {
    const others = [one, other].filter((service) => service !== at);
    for (const service of others) service.kill('SIGSTOP');
    const response = send(at.baseUrl, purchase(customer));
    await reached;
    return { response, letOthersGoOn: () => others.forEach((service) => service.kill('SIGCONT')) };
  }

  const stateOf = async ({ id }: Customer): Promise<string | undefined> => {
    const [order] = await replicas.query<{ state: string }>('SELECT state FROM orders WHERE user_id = $1', [
      id,
    ]);
    return order?.state;
  };

  it('execute one order for the same key at both', async () => {
    const customer = await replicas.createCustomer();
    const order = purchase(customer, 'both');
    const responses = await Promise.all(
      [one, other].map(({ baseUrl }) => sendUntilResponse(() => baseUrl, order)),
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    expect(responses[0]?.body).toEqual(responses[1]?.body);
    expect(await soldTo(customer)).toBe(1);
  });

  it(`execute one order for ${REQUESTS} requests with one key`, async () => {
    const customer = await replicas.createCustomer();
    const order = purchase(customer, 'storm');
    const responses = await Promise.all(
      Array.from({ length: REQUESTS }, (_, at) =>
        sendUntilResponse(() => (at % 2 ? one : other).baseUrl, order),
      ),
    );
    expect(
      new Set(responses.map(({ status, body }) => JSON.stringify([status, body['order_id']]))).size,
    ).toBe(1);
    expect(await soldTo(customer)).toBe(1);
  });

  it(`apply at once what the other did: ${CHANGES} tokens revoked, users blocked and unblocked`, async () => {
    const staff = await replicas.createCustomer('1.00', ALL_STAFF_SCOPES);
    const statusesOf = async ({ token }: Customer) =>
      Promise.all(
        ['/me', '/countries'].map(async (path) => (await sendRaw(other.baseUrl, { path, token })).status),
      );
    const changeAndRead = async (what: string, target: string, { token }: Customer) => {
      const path = `/staff/${target}/${what}`;
      const { status } = await send(one.baseUrl, { customer: staff, path, body: { reason: 'test' } });
      return [what, status, ...(await statusesOf({ ...staff, token }))];
    };
    for (let n = 0; n < CHANGES; n += 1) {
      const customer = await replicas.createCustomer('1.00');
      expect(await statusesOf(customer)).toEqual([200, 200]);
      const user = `users/${customer.id}`;
      expect(await changeAndRead('block', user, customer)).toEqual(['block', 200, 403, 403]);
      expect(await changeAndRead('unblock', user, customer)).toEqual(['unblock', 200, 200, 200]);
      const [token] = await replicas.query<{ id: number }>('SELECT id FROM api_tokens WHERE user_id = $1', [
        customer.id,
      ]);
      expect(await changeAndRead('revoke', `tokens/${token?.id}`, customer)).toEqual([
        'revoke',
        200,
        401,
        401,
      ]);
    }
  });

  it(`sell exactly ten to ${REQUESTS} requests with money for ten`, async () => {
    const quoting = await replicas.createCustomer();
    const quote = await fetchAs(quoting, 'GET', `${one.baseUrl}/price?count=1&period=30`);
    const { price_final: price } = (await quote.json()) as { price_final: string };
    const customer = await replicas.createCustomer((Number(price) * 10.5).toFixed(2));
    const responses = await Promise.all(
      Array.from({ length: REQUESTS }, (_, at) =>
        sendUntilResponse(() => (at % 2 ? one : other).baseUrl, purchase(customer, `k${at}`)),
      ),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(responses.filter(({ body }) => body['detail'] === 'Insufficient balance')).toHaveLength(
      REQUESTS - 10,
    );
    expect(await soldTo(customer)).toBe(10);
  });

  it('SIGSTOP before the claim: the other sends the order, and it is delivered once', async () => {
    const customer = await replicas.createCustomer();
    const claim = holdClaim('before');
    const response = send(one.baseUrl, purchase(customer));
    await claim.reached;
    one.kill('SIGSTOP');
    await eventually(async () => (await stateOf(customer)) === 'completed');
    claim.letGo();
    one.kill('SIGCONT');
    expect((await response).status).toBe(200);
    expect(await soldTo(customer)).toBe(1);
  });

  it('SIGSTOP between claim and call until the other has canceled: nothing is bought', async () => {
    const customer = await replicas.createCustomer();
    const claim = holdClaim('after');
    const { response, letOthersGoOn } = await buyAlone(one, customer, claim.reached);
    one.kill('SIGSTOP');
    letOthersGoOn();
    claim.letGo();
    await eventually(async () => (await stateOf(customer)) === 'canceled');
    one.kill('SIGCONT');
    expect((await response).status).toBe(503);
    expect(await soldTo(customer)).toBe(0);
  });

  it('SIGSTOP during the call until the other has settled the order: it is delivered once', async () => {
    const customer = await replicas.createCustomer();
    const gate = await replicas.control.addGate({ method: 'buy', stage: 'received' });
    const reached = replicas.control.untilGateReached(gate);
    const { response, letOthersGoOn } = await buyAlone(one, customer, reached);
    one.kill('SIGSTOP');
    letOthersGoOn();
    await replicas.control.openGate(gate);
    await eventually(async () => (await stateOf(customer)) === 'completed');
    one.kill('SIGCONT');
    expect((await response).status).toBe(200);
    expect(await soldTo(customer)).toBe(1);
  });

  it('a client that hangs up does not change what happens to its order', async () => {
    const customer = await replicas.createCustomer();
    const gate = await replicas.control.addGate({ method: 'buy', stage: 'received' });
    const client = new AbortController();
    const lost = send(one.baseUrl, purchase(customer, 'gone'), client.signal).catch(() => 'lost');
    await replicas.control.untilGateReached(gate);
    client.abort();
    expect(await lost).toBe('lost');
    await replicas.control.openGate(gate);
    const again = await sendUntilResponse(() => other.baseUrl, purchase(customer, 'gone'));
    expect(again).toMatchObject({ status: 200, replayed: true });
    expect(await soldTo(customer)).toBe(1);
  });

  it.each<[what: string, statement: string, status: number, body: object, fault: FaultSpec | null]>([
    ['its reservation is not a failure', 'place_orders', 200, {}, null],
    ['its settlement is not a failure', 'INSERT INTO proxies', 200, {}, null],
    ['a claim has the order canceled', CLAIM, 503, UNAVAILABLE, null],
    ['a refund leaves the refusal', `SET state = 'canceled'`, 400, OUT_OF_STOCK.body, OUT_OF_STOCK.fault],
  ])('a connection cut at the COMMIT of %s', async (_, statement, status, body, fault) => {
    const customer = await replicas.createCustomer();
    if (fault) await replicas.control.addFault(fault);
    const cut = replicas.relay.catchNext({ statement, moment: 'after', action: 'cut' });
    const { response, letOthersGoOn } = await buyAlone(one, customer, cut.reached);
    letOthersGoOn();
    expect(await response).toMatchObject({ status, body });
    expect(await stateOf(customer)).toBe(status === 200 ? 'completed' : 'canceled');
    expect(await soldTo(customer)).toBe(status === 200 ? 1 : 0);
  });

  it('returns 503 while every connection of the pool is taken', async () => {
    const customer = await replicas.createCustomer();
    const held: Caught[] = [];
    const stuck: ReturnType<typeof send>[] = [];
    while (held.length < 4) {
      const statement = 'FROM api_tokens';
      const lookup = replicas.relay.catchNext({ statement, moment: 'before', action: 'hold' });
      held.push(lookup);
      stuck.push(send(one.baseUrl, purchase(customer)));
      // One by one, because tokens of simultaneous requests are looked up in one statement.
      await lookup.reached;
    }
    expect(await send(one.baseUrl, purchase(customer))).toMatchObject({ status: 503, body: UNAVAILABLE });
    for (const { letGo } of held) letGo();
    const responses = await Promise.all(stuck);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  it('kill -9 of the one that placed an order: the other sends it without anybody’s request', async () => {
    const customer = await replicas.createCustomer();
    const claim = holdClaim('before');
    const { response, letOthersGoOn } = await buyAlone(one, customer, claim.reached);
    const outcome = response.catch(() => 'lost');
    one.kill('SIGKILL');
    await one.ended();
    letOthersGoOn();
    expect(await outcome).toBe('lost');
    await eventually(async () => (await stateOf(customer)) === 'completed');
    claim.letGo();
    expect(await soldTo(customer)).toBe(1);
  });
});
