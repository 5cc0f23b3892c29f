import http from 'node:http';
import { CatalogService } from '../src/catalog';
import { Jobs } from '../src/jobs';
import { OrderQueries } from '../src/orders';
import { eventually } from './support/built-service';
import { forAllTests, forEachTest } from './support/fixtures';
import { listen } from './support/listen';
import { startReplica } from './support/replica';
import { startTestService, testUser } from './support/test-service';

async function startEmbellisher(target: string): Promise<{ url: string; close(): void }> {
  const server = http.createServer((request, response) => {
    void passOn(request, response);
  });
  const passOn = async ({ url = '' }: http.IncomingMessage, response: http.ServerResponse) => {
    const result = await fetch(target + url);
    const text = await result.text();
    response.writeHead(result.status, { 'Content-Type': 'application/json' });
    response.end(/\/(buy|prolong)\//.test(url) ? text.replace('{', String.raw`{"note":"\u0000",`) : text);
  };
  return { url: `http://127.0.0.1:${await listen(server)}`, close: () => server.close() };
}

describe('The response of the provider to an order', () => {
  // Nothing else may change the stock or write about it.
  const service = forAllTests(startTestService);
  const user = forEachTest(() => service.createUser());
  const buy = async (key?: string) => (await user.buy({ count: 3 }, key)).data;
  const prolong = async (proxyId: string, key?: string) => (await user.prolong(proxyId, { key })).data;

  const recordsOf = (kind: string): Promise<{ method: string }[]> =>
    service.owner.query(
      `SELECT method FROM provider_calls c JOIN orders ON orders.id = order_id
        WHERE user_id = $1 AND kind = $2 ORDER BY c.id`,
      [user.id, kind],
    );

  async function statementsNaming(text: string, work: () => Promise<unknown>): Promise<string[]> {
    const sent = jest.spyOn(service.dataSource.logger, 'logQuery');
    try {
      await work();
      return sent.mock.calls.map(([statement]) => statement).filter((one) => one.includes(text));
    } finally {
      sent.mockRestore();
    }
  }

  it.each([undefined, 'k'])('is stored, recorded and returned by one statement (key: %s)', async (key) => {
    let proxyId = '';
    const [settled, ...more] = await statementsNaming('provider_calls', async () => {
      proxyId = (await buy(key))?.proxies[0]?.id ?? '';
    });
    expect(settled).toContain('INSERT INTO proxies');
    expect(more).toEqual([]);
    expect(await recordsOf('purchase')).toEqual([{ method: 'buy' }]);

    const settledAgain = await statementsNaming('provider_calls', () => prolong(proxyId, key && `${key}2`));
    expect(settledAgain.filter((one) => one.includes('UPDATE proxies'))).toHaveLength(1);
    expect((await recordsOf('prolongation')).map(({ method }) => method)).toEqual(['getproxy', 'prolong']);
  });

  it('is not read again from the database for the response to the customer', async () => {
    let proxyId = '';
    const readsOfProxies = await statementsNaming('FROM proxies WHERE', async () => {
      proxyId = (await buy())?.proxies[0]?.id ?? '';
    });
    expect(readsOfProxies.filter((one) => one.startsWith('SELECT'))).toEqual([]);
    // Once a second, the service reads all orders that requests wait for.
    const { awaited } = service.app.get(OrderQueries);
    const polling = jest
      .spyOn(awaited as unknown as { poll: () => Promise<void> }, 'poll')
      .mockResolvedValue();
    const readsOfOutcomes = await statementsNaming('AS "leftMs"', () => prolong(proxyId));
    polling.mockRestore();
    expect(readsOfOutcomes).toEqual([]);
  });

  it('subtracts from the stock at once here, and with other sales in the database', async () => {
    const stock = async () =>
      (await user.api.GET('/countries/{country}/count', { params: { path: { country: 'ru' } } })).data
        ?.available;
    const stored = async () => {
      const [row] = await service.owner.query<{ value: number }[]>(
        `SELECT value FROM catalog_copies WHERE key = 'stock/6/ru'`,
      );
      return row?.value;
    };
    // Sales of other tests may still be subtracted from the stock.
    const before = await eventually(async () => {
      const known = await stock();
      return known === (await stored()) && known;
    });
    const following = jest.spyOn(service.app.get(CatalogService), 'isToFollow').mockReturnValue('false');
    const writes = await statementsNaming('UPDATE catalog_copies', async () => {
      for (const left of [before - 3, before - 6, before - 9]) {
        await buy();
        expect(await stock()).toBe(left);
      }
    });
    expect(writes).toEqual([]);
    following.mockRestore();
    await eventually(async () => (await stored()) === before - 9);
  });

  it.each([undefined, 'k'])('is returned as the list of proxies then shows it (key: %s)', async (key) => {
    const bought = await buy(key);
    expect((await user.api.GET('/proxies')).data).toEqual(bought?.proxies);

    const prolonged = await prolong(bought?.proxies[1]?.id ?? '', key && `${key}2`);
    const { data: listedAgain } = await user.api.GET('/proxies');
    expect(prolonged?.proxy).toEqual(listedAgain?.[1]);
  });

  it('is delivered and recorded also when jsonb would refuse it', async () => {
    const idle = await startTestService();
    // Its jobs would claim orders and send them past the embellisher.
    await idle.app.get(Jobs).stop();
    const embellisher = await startEmbellisher(idle.sandbox.baseUrl);
    const replica = await startReplica(idle, { provider: { baseUrl: embellisher.url } });
    try {
      const { id, token } = await idle.createUser();
      const customer = testUser(replica.baseUrl, id, token);
      const { data: bought } = await customer.buy();
      expect(bought?.proxies).toHaveLength(1);
      expect((await customer.prolong(bought?.proxies[0]?.id ?? '')).response.status).toBe(200);
    } finally {
      await replica.close();
      embellisher.close();
    }
    const stored = await idle.owner.query<{ note: string }[]>(
      `SELECT substring(response FROM '"note":"[^"]*"') AS note
         FROM provider_calls WHERE method IN ('buy', 'prolong')`,
    );
    expect(stored).toEqual([{ note: String.raw`"note":"\u0000"` }, { note: String.raw`"note":"\u0000"` }]);
    await idle.audit({ withProvider: true });
    await idle.close();
  });
});
