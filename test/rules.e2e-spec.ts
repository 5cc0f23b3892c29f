import { ORDER_STATES, type OrderState, toldState } from '../src/orders/order-states';
import { type ProxyFields, toProxyOut } from '../src/proxies/dto/proxy-out.dto';
import { SeededRandom } from './support/seeded-random';
import { sharedTestService, type TestService } from './support/test-service';

const PROXY: ProxyFields = {
  id: 1,
  host: 'host',
  port: '1',
  login: 'login',
  password: 'password',
  proxyType: 'http',
  country: 'ru',
  version: '6',
  dateStart: null,
  dateEnd: null,
  withdrawnAt: null,
  descr: '',
};

/**
 * Rules that the database and the code both need. The database has one function for each; where the code does
 * not ask it, the two are compared here over generated cases.
 */
describe('The database and the code agree on', () => {
  let service: TestService;
  let random: SeededRandom;

  beforeAll(async () => {
    service = await sharedTestService();
  });
  beforeEach(() => {
    random = new SeededRandom(32);
  });
  afterAll(() => service.close());

  const query = <Row>(text: string, parameters: unknown[] = []): Promise<Row[]> =>
    service.dataSource.query<Row[]>(text, parameters);

  it('how customers are told where an order stands', async () => {
    const told = await query<{ state: OrderState; told: string }>(
      'SELECT state, told_state(state) AS told FROM unnest($1::text[]) AS state',
      [ORDER_STATES],
    );
    expect(told).toEqual(ORDER_STATES.map((state) => ({ state, told: toldState(state) })));
  });

  it('the text of a moment', async () => {
    const moments = Array.from({ length: 200 }, () => new Date(random.integer(0, 4_102_444_800_000)));
    const texts = await query<{ text: string; seconds: string; microseconds: string }>(
      `SELECT iso_text(moment) AS text, iso_text(moment, '') AS seconds,
              iso_text(moment, '.US') AS microseconds
         FROM unnest($1::timestamptz[]) WITH ORDINALITY AS given (moment, place) ORDER BY place`,
      [moments],
    );
    expect(texts).toEqual(
      moments.map((moment) => ({
        text: moment.toISOString(),
        seconds: toProxyOut({ ...PROXY, dateEnd: moment }, moment).date_end,
        microseconds: moment.toISOString().replace('Z', '000Z'),
      })),
    );
  });
});
