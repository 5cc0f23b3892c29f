import { runRestore } from '../../drills/restore/run';
import { missingPackages } from '../../drills/support/debian';
import { BUILD_TIMEOUT_MS, ensureBuild } from '../support/built-service';
import { describeWith } from '../support/programs';

/** The short form of `npm run drill:restore`. */
describeWith(missingPackages('postgres', 'pgbackrest'), 'After the disk of the database was lost', () => {
  beforeAll(ensureBuild, BUILD_TIMEOUT_MS);

  it('a restore to an earlier moment loses no rouble, and nothing is bought twice', async () => {
    const report = await runRestore({
      replicas: 1,
      customers: 3,
      pauseMs: 200,
      secondsBetween: 1,
      secondsLost: 2,
      archiveTimeoutSeconds: 1,
    });
    expect(report.violations).toEqual([]);
    expect(report.orders.lost).toBeGreaterThan(0);
    expect(report.decided.unmatched).toBeGreaterThan(0);
  }, 300_000);
});
