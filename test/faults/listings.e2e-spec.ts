import { DEFAULT_DIALECT, type Dialect } from '../../src/sandbox';
import { eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { startTestService } from '../support/test-service';
import { WireClient } from '../support/wire-client';

const DIALECTS = (['exact', 'prefix', 'substring', 'ignored'] as const).flatMap((descrFilter) =>
  (['sorted', 'unsorted', 'moving'] as const).map((pageOrder): [what: string, dialect: Partial<Dialect>] => [
    `${descrFilter} filter and ${pageOrder} pages`,
    { descrFilter, pageOrder, pageLimit: 3 },
  ]),
);

const MANY_SEARCHES = 6;

describe('The provider may list as it likes:', () => {
  const service = forAllTests(() => startTestService({ environment: { PROVIDER_TIMEOUT_MS: '1000' } }));
  const provider = forAllTests(() => new WireClient(service.sandbox.baseUrl, service.sandbox.apiKey));
  const user = forAllTests(() => service.createUser({ balance: '100000.00' }));
  afterEach(async () => {
    await service.control.resetFaults();
    await service.control.setDialect(DEFAULT_DIALECT);
    await service.audit();
  });

  const buy = (count: number) => user.buy({ count });
  const prolong = (proxyId: string) => user.prolong(proxyId);

  async function latestOrder(): Promise<{ state: string; searches: number; proxy: string }> {
    const [order] = await service.dataSource.query(
      `SELECT state, searches, (SELECT max(id) FROM proxies WHERE order_id = orders.id) AS proxy
         FROM orders ORDER BY id DESC LIMIT 1`,
    );
    return order;
  }

  /** Fills a page with orders of others whose references contain the next order's reference. */
  async function crowdNextReference(): Promise<void> {
    const [{ orderReference }] = await service.dataSource.query(
      `SELECT format('prs.%s.u%s.o%s', environment, $1::bigint,
                     (SELECT last_value + 1 FROM pg_sequences
                       WHERE sequencename = 'orders_id_seq')) AS "orderReference"
         FROM installation`,
      [user.id],
    );
    await provider.call(`buy/?count=3&period=30&country=ru&version=6&descr=${orderReference}0`);
    await provider.call(`buy/?count=1&period=30&country=ru&version=6&descr=other.${orderReference}`);
  }

  it.each(DIALECTS)('%s: a lost purchase is delivered in full, and prolonged', async (_, dialect) => {
    await buy(1);
    await crowdNextReference();
    await service.control.setDialect(dialect);
    await service.control.addFault({ method: 'buy', kind: 'response-lost' });
    await buy(2);
    await service.untilSettled();
    const { state, proxy } = await latestOrder();
    expect(state).toBe('completed');
    // While rows move, a listing may miss the proxy: the response is then 503, and nothing was sent.
    await eventually(async () => (await prolong(proxy)).response.status === 200);
  });

  it.each(['prefix', 'substring'] as const)(
    '%s filter: the money of a purchase that was not made goes back',
    async (descrFilter) => {
      await crowdNextReference();
      await service.control.setDialect({ descrFilter, pageLimit: 3 });
      await service.control.addFault({ method: 'buy', kind: 'reset' });
      await buy(1);
      await service.untilSettled();
      expect(await latestOrder()).toMatchObject({ state: 'canceled' });
    },
  );

  it('ignored filter: the money stays held until the filter works and finds nothing', async () => {
    await crowdNextReference();
    await service.control.setDialect({ descrFilter: 'ignored' });
    await service.control.addFault({ method: 'buy', kind: 'reset' });
    await buy(1);
    await eventually(async () => (await latestOrder()).searches >= MANY_SEARCHES);
    expect(await latestOrder()).toMatchObject({ state: 'confirming' });
    await service.control.setDialect({ descrFilter: 'exact' });
    await service.untilSettled();
    expect(await latestOrder()).toMatchObject({ state: 'canceled' });
  });

  it('prefix filter: what was bought under an older reference, without its end, is still found', async () => {
    await buy(1);
    await service.dataSource.query(
      `UPDATE orders SET order_reference = rtrim(order_reference, 'x')
    WHERE id = (SELECT max(id) FROM orders)`,
    );
    const [{ orderReference, id, provider_proxy_id: providerId }] = await service.dataSource.query(
      `SELECT orders.order_reference AS "orderReference", proxies.id, provider_proxy_id
         FROM proxies JOIN orders ON orders.id = order_id
        ORDER BY orders.id DESC LIMIT 1`,
    );
    for (const descr of [`${orderReference}0x`, `${orderReference}1x`, `${orderReference}2`]) {
      await provider.call(`buy/?count=2&period=30&country=ru&version=6&descr=${descr}`);
    }
    await provider.call(`setdescr/?ids=${providerId}&new=${orderReference}`);
    await service.control.setDialect({ descrFilter: 'prefix', pageLimit: 2, pageOrder: 'unsorted' });
    expect((await prolong(id)).response.status).toBe(200);
  });
});
