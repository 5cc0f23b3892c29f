import { Money } from '../../src/common';
import { LedgerService } from '../../src/ledger';
import type { ForecastItem, ForecastOut } from '../../src/renewals/forecast.dto';
import { monthOf } from '../../src/renewals/renewal-decision';
import { ruleOfProxySql } from '../../src/renewals/rule-of-proxy';
import { fetchAs } from '../support/api-client';
import { eventually } from '../support/built-service';
import { canFakeTime, FakedTime } from '../support/faked-time';
import { forAllTests } from '../support/fixtures';
import { startOwnPostgres } from '../support/own-postgres';
import { readPages } from '../support/pages';
import { describeWith } from '../support/programs';
import { runRenewals } from '../support/renewals';
import type { Json } from '../support/staff';
import { startTestService, type TestUser } from '../support/test-service';

jest.setTimeout(120_000);

/** In the middle of a month, so that the 90 days include three beginnings of a month. */
const DAY_0 = Date.parse('2031-03-20T12:34:00Z');
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface Outcome {
  readonly proxy: string;
  readonly dateEnd: string;
  readonly at: string | null;
  readonly price: string | null;
  readonly reason: string | null;
}

const inOrder = (outcomes: Outcome[]): Outcome[] =>
  outcomes.sort((one, other) =>
    `${one.dateEnd} ${one.proxy.padStart(9)}` < `${other.dateEnd} ${other.proxy.padStart(9)}` ? -1 : 1,
  );

describeWith(canFakeTime ? [] : ['faketime'], 'Ninety days of renewals', () => {
  let user: TestUser;
  let now = Date.now();
  const time = forAllTests(() => FakedTime.start());
  const postgres = forAllTests(() => startOwnPostgres(time.environment()));
  const service = forAllTests(() => startTestService({ database: postgres }));
  beforeAll(async () => {
    await moveTo(DAY_0);
    user = await service.createUser({ balance: '100000.00' });
  });

  async function moveTo(moment: number): Promise<void> {
    const offset = Math.round((moment - Date.now()) / 1000);
    service.clock.advanceSeconds(offset - Math.round((service.clock.now().getTime() - Date.now()) / 1000));
    await time.setOffset(offset);
    await service.control.setClockOffset(offset * 1000);
    now = moment;
  }

  async function call<Result>(method: string, path: string, body?: object): Promise<Json<Result>> {
    const response = await fetchAs(user, method, service.baseUrl + path, body);
    expect([path, response.ok]).toEqual([path, true]);
    return (await response.json()) as Json<Result>;
  }

  async function buy(order: { country: string; version?: string; period: number; count: number }) {
    const { proxies } = await call<{ proxies: { id: string }[] }>('POST', '/proxies/buy', order);
    expect(proxies).toHaveLength(order.count);
    return proxies.map(({ id }) => id);
  }

  const switchOn = (rule: object): Promise<unknown> => call('POST', '/renewals/rules', rule);
  const part = (percent: bigint, whole: Money): Money => Money.ofKopecks((whole.kopecks * percent) / 100n);

  async function forecastCost(): Promise<Money> {
    return Money.parse((await call<ForecastOut>('GET', '/renewals/forecast')).totals.cost);
  }

  async function wholeForecast(): Promise<{ first: Json<ForecastOut>; items: Json<ForecastItem>[] }> {
    const read = (cursor = '') => call<ForecastOut>('GET', `/renewals/forecast?limit=200${cursor}`);
    return { first: await read(), items: await readPages(read) };
  }

  async function nextMoment(): Promise<number> {
    const [row] = await service.dataSource.query<{ at: Date | null }[]>(
      `SELECT min(due_at) AS at
           FROM proxies JOIN LATERAL (${ruleOfProxySql()}) AS rule ON true,
                LATERAL (SELECT date_trunc('hour', date_end - make_interval(hours => hours_before), 'UTC')
                                  AS due_at) AS due
          WHERE due_at > $1`,
      [new Date(now)],
    );
    const month = monthOf(new Date(monthOf(new Date(now)).getTime() + 32 * DAY_MS)).getTime();
    return Math.min(row?.at?.getTime() ?? month, month) + 1000;
  }

  it('are what the forecast said on the first day, to the hour and the kopeck', async () => {
    const [withRuleOfOwn, excluded] = await buy({ country: 'ru', period: 30, count: 10 });
    await moveTo(now + 7 * HOUR_MS);
    await buy({ country: 'de', period: 14, count: 6 });
    await moveTo(now + 20 * HOUR_MS);
    const short = await buy({ country: 'ru', version: '4', period: 7, count: 5 });
    await moveTo(now + HOUR_MS);
    await buy({ country: 'us', period: 60, count: 5 });
    await call('PATCH', '/proxies', { proxy_ids: short, tags: ['short'] });
    await switchOn({ target: 'all', period: 30 });
    await switchOn({ target: 'filter', filter: { country: 'de' }, period: 14, hours_before: 48 });
    await switchOn({ target: 'filter', filter: { tag: 'short' }, period: 7, hours_before: 2 });
    await switchOn({ target: 'proxy', proxy_id: withRuleOfOwn, period: 30, max_price: '0.01' });
    await call('POST', '/renewals/exclusions', { proxy_id: excluded });

    // Neither the budget of a month nor the balance is enough for everything.
    const budget = part(28n, await forecastCost());
    await call('PUT', '/renewals/budget', { monthly: budget.toString() });
    const balance = part(88n, await forecastCost());
    const { available } = await service.balanceOf(user);
    await service.app.get(LedgerService).debit(user.id, Money.parse(available).minus(balance), 'test');

    const { first, items } = await wholeForecast();
    const end = now + 90 * DAY_MS;
    for (;;) {
      await runRenewals(service);
      const next = await nextMoment();
      if (next > end) break;
      await moveTo(next);
    }

    const forecast = items.map(
      ({ proxy_id: proxy, date_end: dateEnd, at, renewed, price, reason }): Outcome => ({
        proxy,
        dateEnd,
        at: renewed ? `${at.slice(0, 13)}:00:00.000Z` : null,
        price: renewed ? price : null,
        reason,
      }),
    );
    const happened: Outcome[] = await service.dataSource.query(
      `SELECT renewals.proxy_id::text AS proxy,
                to_char(renewals.date_end_before, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "dateEnd",
                CASE WHEN renewals.state = 'done'
                     THEN to_char(orders.created_at, 'YYYY-MM-DD"T"HH24":00:00.000Z"') END AS at,
                captured::text AS price, renewals.reason
           FROM renewals LEFT JOIN orders ON orders.id = renewals.order_id
          WHERE renewals.state <> 'planned'`,
    );
    expect(inOrder(happened)).toEqual(inOrder(forecast));
    expect((await service.balanceOf(user)).available).toBe(first.by_day.at(-1)?.available);
    expect(first.reasons.map(({ reason }) => reason).sort()).toEqual([
      'balance-short',
      'budget-used-up',
      'price-above-max',
    ]);
    expect(first.totals.renewals).toBeGreaterThan(60);
    expect(items.filter(({ at, renewed }) => renewed && at.includes('-01T00:00:00'))).not.toEqual([]);
    // By the database's clock, what waits to be published may be days old.
    await eventually(async () => {
      const unpublished = await service.owner.query('SELECT FROM events WHERE position IS NULL');
      return unpublished.length === 0;
    });
    await service.audit({ withProvider: true });
  });
});
