import { ExpiryReminders } from '../src/proxies/expiring/expiry-reminders';
import { forAllTests, forEachTest } from './support/fixtures';
import { insertProxies } from './support/proxy-rows';
import { unauditedTestService } from './support/test-service';

const HOUR = 3600;
const NEVER_REMINDED = 32_767;

describe('The end of a proxy', () => {
  const service = forAllTests(unauditedTestService);
  const user = forEachTest(() => service.createUser());
  beforeEach(() => service.dataSource.query('UPDATE proxies SET active = false'));

  const remind = () => service.runJob('expiring');

  async function rented(hours: number, count = 1): Promise<number[]> {
    const ids = await insertProxies(service.dataSource, user.id, count, { endsInSeconds: hours * HOUR });
    await service.dataSource.query('UPDATE proxies SET reminded_hours = $2 WHERE id = ANY ($1)', [
      ids,
      NEVER_REMINDED,
    ]);
    return ids;
  }

  const reminders = () =>
    service.dataSource.query<{ type: string; proxy_id: string; hours_left: number | null }[]>(
      `SELECT type, data ->> 'proxy_id' AS proxy_id, (data -> 'hours_left')::integer AS hours_left
         FROM events WHERE user_id = $1 AND type LIKE 'proxy.%' ORDER BY id`,
      [user.id],
    );
  const stages = async () => (await reminders()).map(({ hours_left }) => hours_left);

  const pass = (hours: number) =>
    service.dataSource.query(
      'UPDATE proxies SET date_end = date_end - make_interval(hours => $2) WHERE user_id = $1',
      [user.id, hours],
    );

  it('causes a reminder 3 days, 1 day and 1 hour before it, once each', async () => {
    const [id] = await rented(100);
    for (const hours of [0, 29, 10, 37, 10, 13]) {
      await pass(hours);
      await remind();
      await remind();
    }
    expect(await reminders()).toEqual(
      [72, 24, 1].map((hours_left) => ({ type: 'proxy.expiring', proxy_id: String(id), hours_left })),
    );
  });

  it('causes a late reminder, only that of its latest stage, when none could be sent before', async () => {
    await rented(30);
    await rented(0.5);
    await remind();
    expect((await stages()).toSorted((one, other) => Number(one) - Number(other))).toEqual([1, 72]);
    await pass(20);
    await remind();
    expect((await stages()).toSorted((one, other) => Number(one) - Number(other))).toEqual([1, 24, 72]);
  });

  it('has the proxy and its end as the API does', async () => {
    const [id] = await rented(10);
    await remind();
    const [{ data }] = await service.dataSource.query(
      `SELECT data FROM events WHERE user_id = $1 AND type = 'proxy.expiring'`,
      [user.id],
    );
    const [{ end }] = await service.dataSource.query('SELECT date_end AS end FROM proxies WHERE id = $1', [
      id,
    ]);
    expect(data).toEqual({ proxy_id: String(id), date_end: end.toISOString(), hours_left: 24 });
  });

  it('causes no reminder of a stage that the whole rental was not longer than', async () => {
    await insertProxies(service.dataSource, user.id, 1, { endsInSeconds: 72 * HOUR + 5 });
    await remind();
    await pass(1);
    await remind();
    expect(await stages()).toEqual([]);
    await pass(48);
    await remind();
    expect(await stages()).toEqual([24]);
  });

  it('causes no reminder when it was withdrawn or is over', async () => {
    const [withdrawn] = await rented(10);
    await service.dataSource.query('UPDATE proxies SET withdrawn_at = now() WHERE id = $1', [withdrawn]);
    await rented(-1);
    await remind();
    expect(await stages()).toEqual([null]);
  });

  it('causes another reminder before its new end when it was prolonged', async () => {
    await rented(10);
    await remind();
    await pass(-30 * 24);
    await remind();
    await pass(710);
    await remind();
    await remind();
    expect((await reminders()).map(({ type, hours_left }) => hours_left ?? type)).toEqual([
      24,
      'proxy.prolonged',
      24,
    ]);
  });

  it('causes no other reminder when the provider corrects it by minutes', async () => {
    const [id] = await rented(10);
    await remind();
    const correction = `UPDATE proxies SET date_end = date_end + interval '5 minutes' WHERE id = $1`;
    await service.dataSource.query(correction, [id]);
    await remind();
    expect(await stages()).toEqual([24]);
  });

  it('causes one reminder by any number of replicas at once, a batch at a time', async () => {
    await rented(10, 2500);
    const other = new ExpiryReminders(service.dataSource, {
      proxies: { expiringHours: [72, 24, 1] },
    } as never);
    // Without the lease, as if both replicas held it.
    const batch = (one: ExpiryReminders): Promise<number> => one['remindBatch'](24);
    const counts = await Promise.all(
      Array.from({ length: 6 }, (_, n) => batch(n % 2 ? other : service.app.get(ExpiryReminders))),
    );
    let sum = counts.reduce((total, count) => total + count, 0);
    for (let count = 1; count > 0;) sum += count = await batch(other);
    expect(sum).toBe(2500);
    const all = await reminders();
    expect(new Set(all.map(({ proxy_id }) => proxy_id)).size).toBe(2500);
    expect(all).toHaveLength(2500);
  });

  it('is announced when it has come, and after the clock was set back only if it has moved', async () => {
    const [id] = await rented(-1);
    const expired = { type: 'proxy.expired', proxy_id: String(id), hours_left: null };
    await service.runJob('active-flags');
    await service.runJob('active-flags');
    expect(await reminders()).toEqual([expired]);
    // A clock that is behind the end would do this.
    await service.dataSource.query('UPDATE proxies SET active = true WHERE id = $1', [id]);
    await service.runJob('active-flags');
    expect(await reminders()).toEqual([expired]);
    await service.dataSource.query(
      `UPDATE proxies SET active = true, date_end = date_end + interval '5 minutes' WHERE id = $1`,
      [id],
    );
    await service.runJob('active-flags');
    expect(await reminders()).toEqual([expired, expired]);
  });
});
