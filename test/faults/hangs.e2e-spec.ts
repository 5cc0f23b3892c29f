import { MetricsServer, METRIC_PREFIX } from '../../src/metrics';
import { eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { readMetrics } from '../support/scrape';
import { openSilentPort } from '../support/silent-port';
import { lockRow } from '../support/table-lock';
import { startTestService } from '../support/test-service';

jest.setTimeout(60_000);

// The tests wait as long as the service does: some seconds each time.
const service = forAllTests(() => startTestService({ environment: { METRICS_PORT: '0' } }));
const scrape = () => readMetrics(service.app.get(MetricsServer).url ?? '');

async function countWaiting(): Promise<number> {
  const [row] = await service.owner.query<{ count: number }[]>(
    `SELECT count(*)::integer AS count FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name LIKE '% metrics'`,
  );
  return row?.count ?? 0;
}

it('A database that hangs is queried once for all scrapes, which report that it is down', async () => {
  const lock = await lockRow(service.owner, 'LOCK TABLE unmatched_proxies IN ACCESS EXCLUSIVE MODE');
  const scrapes = Array.from({ length: 10 }, () => scrape());
  await eventually(async () => (await countWaiting()) > 0);
  expect(await countWaiting()).toBe(1);
  for (const { value, series } of await Promise.all(scrapes)) {
    expect(value('database_up')).toBe(0);
    expect(series).not.toContain(`${METRIC_PREFIX}job_pending`);
    expect(series).toContain(`${METRIC_PREFIX}database_pool_connections{state="idle"}`);
    expect(series).toContain('process_cpu_seconds_total');
  }
  await lock.release();
  expect((await scrape()).value('database_up')).toBe(1);
});

it('A service whose collector of traces hangs sells and stops as usual', async () => {
  const silent = await openSilentPort();
  const traced = await startTestService({
    environment: { TRACES_URL: `http://127.0.0.1:${silent.port}/v1/traces` },
  });
  const { api } = await traced.createUser();
  const buy = async () =>
    (await api.POST('/proxies/buy', { body: { country: 'ru', period: 30 } })).response.status;
  expect(await Promise.all(Array.from({ length: 5 }, buy))).toEqual(Array(5).fill(200));
  await traced.close();
  await silent.close();
});
