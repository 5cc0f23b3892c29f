import type { FaultSpec } from '../src/sandbox';
import { createApiClient } from './support/api-client';
import { beforeClosing, forAllTests, forEachTest } from './support/fixtures';
import { captureLog } from './support/log-capture';
import { startReplica } from './support/replica';
import { startTestService, type TestUser } from './support/test-service';

type ProxyType = 'http' | 'socks';

// The sweep reads withdrawn proxies.
const service = forAllTests(startTestService);
beforeClosing(() => service.audit({ withProvider: true }));
const user = forEachTest(() => service.createUser());
beforeEach(() => service.control.clearCalls());
afterEach(() => service.control.resetFaults());

async function buy(count = 1, proxyType: ProxyType = 'http') {
  const [proxy] = (await user.buy({ count, proxy_type: proxyType, version: '6' })).data?.proxies ?? [];
  if (!proxy) throw new Error('nothing was bought');
  return proxy;
}

async function change(id: string, proxyType: string, from: Pick<TestUser, 'api'> = user) {
  const { data, error, response } = await from.api.PUT('/proxies/{proxy_id}/type', {
    params: { path: { proxy_id: id } },
    body: { proxy_type: proxyType as ProxyType },
  });
  return { status: response.status, data, error, retryAfter: response.headers.get('Retry-After') };
}

const refusal = (status: number, detail: unknown) => ({ status, error: { detail } });
const list = async () => (await user.api.GET('/proxies')).data ?? [];
const callsOf = async (method: string) => (await service.control.getCalls(method)).length;
const sweep = () => service.runJob('sweep');
const fault = (spec: Omit<FaultSpec, 'method'>, method: FaultSpec['method'] = 'settype') =>
  service.control.addFault({ method, ...spec });

async function typeAtProvider(id: string): Promise<string | undefined> {
  const providerId = String(await service.providerIdOf(id));
  const response = await fetch(`${service.sandbox.baseUrl}/api/${service.sandbox.apiKey}/getproxy/?nokey`);
  const { list: listed } = (await response.json()) as { list: { id: string; type: string }[] };
  return listed.find((proxy) => proxy.id === providerId)?.type;
}

describe('PUT /proxies/{id}/type', () => {
  it('changes the type at the provider, and returns and lists the proxy as it is then', async () => {
    const proxy = await buy();
    const { status, data } = await change(proxy.id, 'socks');
    expect(status).toBe(200);
    // The sandbox serves each type on its own port, so a stale list would show the other port.
    expect(data).toEqual({
      ...proxy,
      proxy_type: 'socks',
      port: expect.not.stringMatching(`^${proxy.port}$`),
    });
    expect([await list(), await typeAtProvider(proxy.id)]).toEqual([[data], 'socks']);
    expect((await change(proxy.id, 'http')).data).toEqual(proxy);
  });

  it('costs nothing', async () => {
    const proxy = await buy();
    const before = await service.balanceOf(user);
    await change(proxy.id, 'socks');
    expect(await service.balanceOf(user)).toEqual(before);
  });

  it('changes the entity tag of lists that were made before', async () => {
    const proxy = await buy();
    const tag = async () => (await user.api.GET('/proxies')).response.headers.get('ETag');
    const before = await tag();
    await change(proxy.id, 'socks');
    expect(await tag()).not.toBe(before);
  });

  it('asks the provider nothing when the proxy has the type already', async () => {
    const proxy = await buy();
    await service.control.clearCalls();
    expect(await change(proxy.id, 'http')).toMatchObject({ status: 200, data: proxy });
    expect(await service.control.getCalls()).toEqual([]);
  });

  it('changes one proxy of a purchase and leaves the others', async () => {
    await change((await buy(3)).id, 'socks');
    expect((await list()).map(({ proxy_type: type }) => type)).toEqual(['socks', 'http', 'http']);
  });

  it('finds no proxy of another user, and nothing that is no id', async () => {
    const proxy = await buy();
    const other = await service.createUser();
    for (const [id, from] of [
      [proxy.id, other],
      ['0', user],
      ['x', user],
    ] as const) {
      expect(await change(id, 'socks', from)).toMatchObject(refusal(404, 'Proxy not found'));
    }
    expect(await typeAtProvider(proxy.id)).toBe('http');
  });

  it('refuses other types and other fields, with all mistakes at once', async () => {
    const proxy = await buy();
    const mistake = { type: 'string_pattern_mismatch', loc: ['body', 'proxy_type'] };
    expect(await change(proxy.id, 'https')).toMatchObject(refusal(422, [mistake]));
  });

  it('needs a token that may write', async () => {
    const reader = await service.createUser({ scopes: ['proxies:read'] });
    expect(await change('1', 'socks', reader)).toMatchObject({ status: 403 });
  });

  it('refuses an expired and a withdrawn proxy, without a call', async () => {
    const [expired, withdrawn] = [await buy(), await buy()];
    await service.dataSource.query(`UPDATE proxies SET date_end = now() - interval '1 s' WHERE id = $1`, [
      expired.id,
    ]);
    await service.dataSource.query('UPDATE proxies SET withdrawn_at = now() WHERE id = $1', [withdrawn.id]);
    const ended = refusal(409, 'The rental of this proxy has ended');
    expect(await change(expired.id, 'socks')).toMatchObject(ended);
    const gone = refusal(409, 'The provider has withdrawn this proxy');
    expect(await change(withdrawn.id, 'socks')).toMatchObject(gone);
    expect(await callsOf('settype')).toBe(0);
    await sweep();
  });

  it('reports when the provider no longer has the proxy', async () => {
    const proxy = await buy();
    await service.control.withdrawProxy(await service.providerIdOf(proxy.id));
    const gone = refusal(409, 'The provider no longer has this proxy');
    expect(await change(proxy.id, 'socks')).toMatchObject(gone);
    await sweep();
    await sweep();
  });
});

describe('A change of type whose response says nothing', () => {
  it.each<[string, Omit<FaultSpec, 'method'>]>([
    ['lost', { kind: 'response-lost' }],
    ['error 30', { kind: 'error', errorId: 30, effect: true }],
    ['a web page', { kind: 'html', effect: true }],
    ['502', { kind: 'http-status', status: 502, effect: true }],
  ])('is confirmed by the listing: %s', async (_name, spec) => {
    const proxy = await buy();
    await fault(spec);
    await expectConfirmed(proxy.id);
  });

  it('is confirmed by the listing: late', async () => {
    const proxy = await buy();
    await fault({ kind: 'late', afterMs: 60_000 });
    const impatient = await startReplica(service, { provider: { timeoutMs: 1000 } });
    await expectConfirmed(proxy.id, { api: createApiClient(impatient.baseUrl, user.token) });
    await impatient.close();
  });

  async function expectConfirmed(id: string, from: Pick<TestUser, 'api'> = user): Promise<void> {
    expect(await change(id, 'socks', from)).toMatchObject({ status: 200, data: { proxy_type: 'socks' } });
    expect(await list()).toMatchObject([{ proxy_type: 'socks' }]);
    expect(await callsOf('settype')).toBe(1);
  }

  it('returns 503 with Retry-After when it did nothing, and done by the next request', async () => {
    const proxy = await buy();
    await fault({ kind: 'error', errorId: 30 });
    expect(await change(proxy.id, 'socks')).toMatchObject({
      status: 503,
      error: { detail: 'Service temporarily unavailable: it is not known yet whether the type has changed' },
      retryAfter: '5',
    });
    expect(await list()).toEqual([proxy]);
    expect(await change(proxy.id, 'socks')).toMatchObject({ status: 200, data: { proxy_type: 'socks' } });
  });

  it('returns 503 while the provider lists a type that is not known', async () => {
    const proxy = await buy();
    const path = ['list', `${await service.providerIdOf(proxy.id)}`, 'type'];
    await fault({ kind: 'altered', changes: [{ path, value: 'quic' }] }, 'getproxy');
    expect(await change(proxy.id, 'socks')).toMatchObject({ status: 503 });
    expect(await list()).toEqual([proxy]);
    expect(await change(proxy.id, 'socks')).toMatchObject({ status: 200, data: { proxy_type: 'socks' } });
  });

  /** The provider changes the type, but its listing still shows the old one. */
  async function changeUnseen() {
    const proxy = await buy();
    await fault({ kind: 'response-lost' });
    await fault({ kind: 'http-status', status: 500 }, 'getproxy');
    expect(await change(proxy.id, 'socks')).toMatchObject({ status: 503, retryAfter: '5' });
    return proxy;
  }

  it('returns 503 while the listing is silent too, and a retry finds out', async () => {
    const proxy = await changeUnseen();
    // The retry is refused with error 30, because nothing changes.
    expect(await change(proxy.id, 'socks')).toMatchObject({ status: 200, data: { proxy_type: 'socks' } });
  });

  it('does not take the stored type for that of the provider afterwards', async () => {
    const proxy = await changeUnseen();
    expect(await list()).toMatchObject([{ proxy_type: 'http' }]);
    // Our row already says `http`, unlike the provider.
    expect(await change(proxy.id, 'http')).toMatchObject({ status: 200, data: proxy });
    expect(await typeAtProvider(proxy.id)).toBe('http');
    await service.control.clearCalls();
    expect(await change(proxy.id, 'http')).toMatchObject({ status: 200 });
    expect(await callsOf('settype')).toBe(0);
  });

  it('is corrected by the sweep without a retry', async () => {
    await changeUnseen();
    expect(await sweep()).toMatchObject({ changed: 1 });
    expect(await list()).toMatchObject([{ proxy_type: 'socks' }]);
    expect(await sweep()).toMatchObject({ changed: 0 });
  });
});

describe('A change of type that the provider refuses', () => {
  it('returns 503 when the method is gone, and the log says so', async () => {
    const log = captureLog();
    const proxy = await buy();
    await fault({ kind: 'error', errorId: 110 });
    const response = await change(proxy.id, 'socks');
    log.stop();
    expect(response).toMatchObject(
      refusal(503, 'Service temporarily unavailable: types cannot be changed at the moment'),
    );
    expect(log.lines.join('')).toContain('the provider refuses type changes');
    expect(await list()).toEqual([proxy]);
  });

  it('returns 409 when it concerns the proxy', async () => {
    const proxy = await buy();
    await fault({ kind: 'error', errorId: 260 });
    const refused = refusal(409, 'The provider refuses to change the type of this proxy');
    expect(await change(proxy.id, 'socks')).toMatchObject(refused);
  });
});

describe('Changes of one proxy at the same time', () => {
  it('come one after the other, and leave our row and the provider with the same type', async () => {
    const proxy = await buy();
    const gate = await service.control.addGate({ method: 'settype', stage: 'executed' });
    const first = change(proxy.id, 'socks');
    await service.control.untilGateReached(gate);
    for (const type of ['http', 'socks'] as const) {
      expect(await change(proxy.id, type)).toMatchObject({
        status: 409,
        error: { detail: 'The type of this proxy is being changed' },
        retryAfter: '5',
      });
    }
    await service.control.openGate(gate);
    expect(await first).toMatchObject({ status: 200, data: { proxy_type: 'socks' } });
    expect(await change(proxy.id, 'http')).toMatchObject({ status: 200, data: proxy });
  });

  it('agree with the provider after a crowd of opposite changes', async () => {
    const proxy = await buy();
    const types = Array.from({ length: 10 }, (_, at): ProxyType => (at % 2 === 0 ? 'socks' : 'http'));
    const responses = await Promise.all(types.map((type) => change(proxy.id, type)));
    expect(responses.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
    const [stored] = await list();
    expect(await typeAtProvider(proxy.id)).toBe(stored?.proxy_type);
  });

  it.each([
    ['died', `now() - interval '1 second'`],
    ['began before the clock of the database was set back', `now() + interval '1 hour'`],
  ])('do not wait for one that %s', async (_how, until) => {
    const proxy = await buy();
    await service.dataSource.query(
      `INSERT INTO proxy_type_changes (proxy_id, attempt, attempt_until)
       VALUES ($1, gen_random_uuid(), ${until})`,
      [proxy.id],
    );
    expect(await change(proxy.id, 'socks')).toMatchObject({ status: 200 });
  });

  it('do not let one that was frozen for too long write what it saw', async () => {
    const proxy = await buy();
    const gate = await service.control.addGate({ method: 'getproxy', stage: 'executed' });
    const frozen = change(proxy.id, 'socks');
    await service.control.untilGateReached(gate);
    await service.dataSource.query('UPDATE proxy_type_changes SET attempt_until = now()');
    expect(await change(proxy.id, 'http')).toMatchObject({ status: 200, data: proxy });
    await service.control.openGate(gate);
    expect(await frozen).toMatchObject({ status: 503 });
    expect([await list(), await typeAtProvider(proxy.id)]).toEqual([[proxy], 'http']);
  });
});

describe('The sweep', () => {
  it('takes over a type that was changed at the provider', async () => {
    const proxy = await buy();
    const { baseUrl, apiKey } = service.sandbox;
    await fetch(`${baseUrl}/api/${apiKey}/settype/?ids=${await service.providerIdOf(proxy.id)}&type=socks`);
    expect(await sweep()).toMatchObject({ changed: 1 });
    expect(await list()).toMatchObject([{ id: proxy.id, proxy_type: 'socks' }]);
  });

  it('gives way to a change that was settled after its page was requested', async () => {
    const proxy = await buy();
    const gate = await service.control.addGate({
      method: 'getproxy',
      stage: 'executed',
      match: { page: '1' },
    });
    const sweeping = sweep();
    await service.control.untilGateReached(gate);
    await change(proxy.id, 'socks');
    await service.control.openGate(gate);
    await sweeping;
    expect(await list()).toMatchObject([{ proxy_type: 'socks' }]);
  });
});
