import { setTimeout as pause } from 'node:timers/promises';
import { median } from 'simple-statistics';
import { fetchAs } from '../support/api-client';
import { BUILD_TIMEOUT_MS } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { insertProxies } from '../support/proxy-rows';
import { type Customer, Replicas } from '../support/replicas';

const HOURS = 50;
const RENTALS = 20_000;
const PAIRS = 9;
/**
 * As multiples of the time in which the database counts the rentals. A forecast took 90 to 240 times as long.
 */
const MOST = { '/usage': 16, '/renewals/forecast': 450, '/renewals/forecast?cursor=200000': 450 };
/** As a share of a forecast's time. */
const MOST_DELAY = 0.5;

jest.setTimeout(300_000);

describe('A customer with 20,000 rentals', () => {
  let customer: Customer;
  let other: Customer;
  const replicas = forAllTests(() => Replicas.open());
  const service = forAllTests(
    () => replicas.start(),
    (opened) => opened.stop(),
  );
  beforeAll(async () => {
    [customer, other] = [await replicas.createCustomer('90000000.00'), await replicas.createCustomer()];
    for (let hour = 0; hour < HOURS; hour += 1) {
      await insertProxies(replicas, customer.id, RENTALS / HOURS, { endsInSeconds: 48 * 3600 + hour * 7200 });
    }
    await replicas.query('ANALYZE proxies');
    await replicas.query('ANALYZE orders');
    const response = await send('POST', '/renewals/rules', { target: 'all', period: 3 });
    expect(response.status).toBeLessThan(300);
  }, BUILD_TIMEOUT_MS);

  const send = (method: string, path: string, body?: object, of = customer): Promise<Response> =>
    fetchAs(of, method, service.baseUrl + path, body);

  async function msOf(work: () => Promise<unknown>): Promise<number> {
    const startedMs = performance.now();
    await work();
    return performance.now() - startedMs;
  }

  it.each(Object.entries(MOST))(
    'waits no longer than a multiple of the time that counting them takes: GET %s',
    async (path, most) => {
      const count = () =>
        replicas.query('SELECT count(DISTINCT date_end) FROM proxies WHERE user_id = $1', [customer.id]);
      const read = async () => {
        const response = await send('GET', path);
        expect(response.status).toBe(200);
        await response.arrayBuffer();
      };
      const ratios: number[] = [];
      // In pairs, because the load of the machine changes.
      while (ratios.length < PAIRS) ratios.push((await msOf(read)) / (await msOf(count)));
      expect(median(ratios)).toBeLessThan(most);
    },
  );

  it('does not delay other customers meanwhile', async () => {
    const startedMs = performance.now();
    const forecast = send('GET', '/renewals/forecast');
    const end = forecast.then(() => true);
    let longestMs = 0;
    while (!(await Promise.race([end, pause(0, false)]))) {
      const sentMs = performance.now();
      expect((await send('GET', '/me', undefined, other)).status).toBe(200);
      longestMs = Math.max(longestMs, performance.now() - sentMs);
    }
    expect(((await (await forecast).json()) as { covered: number }).covered).toBe(RENTALS);
    expect(longestMs).toBeLessThan(MOST_DELAY * (performance.now() - startedMs));
  });
});
