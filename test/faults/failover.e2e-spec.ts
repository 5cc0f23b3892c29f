import { DataSource } from 'typeorm';
import { Cluster } from '../../drills/failover/cluster';
import { runFailover } from '../../drills/failover/run';
import { missingPackages } from '../../drills/support/debian';
import { dataSourceOptions, isDatabaseUnavailable } from '../../src/database';
import { ensureBuild } from '../support/built-service';
import { describeWith } from '../support/programs';

jest.setTimeout(240_000);

const missing = missingPackages('etcd', 'etcdctl', 'haproxy', 'patroni', 'postgres');

/** `npm run drill:failover` is the long form. */
describeWith(missing, 'A cluster of Patroni, etcd and HAProxy', () => {
  let cluster: Cluster;

  beforeAll(async () => {
    await ensureBuild();
    cluster = await Cluster.start({ SWEEP_INTERVAL_SECONDS: '5' });
  });
  afterAll(() => cluster.close());

  it('never reads from a standby', async () => {
    const standby = await cluster.database.findSynchronousStandby();
    const url = Object.assign(new URL(cluster.databaseUrl), { port: String(standby.databasePort) }).href;
    const dataSource = new DataSource(dataSourceOptions({ url, poolSize: 1, applicationName: 'test' }));
    const failure: unknown = await dataSource.initialize().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: '25006' });
    expect(isDatabaseUnavailable(failure)).toBe(true);
  });

  it('loses nothing that was acknowledged when its primary is killed under orders', async () => {
    const report = await runFailover(cluster, ['kill -9 of the primary alone, beside Patroni'], {
      pauseMs: 600,
    });
    expect(report.violations).toEqual([]);
    // On a busy machine the new primary may fall silent as well.
    expect(report.timelines).toBeGreaterThanOrEqual(2);
    expect(report.orders).toBeGreaterThan(0);
    expect(report.unmatched).toBe(0);
  });
});
