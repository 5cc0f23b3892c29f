import { runRestore } from '../../drills/restore/run';
import { missingPackages } from '../../drills/support/debian';
import { BUILD_TIMEOUT_MS, ensureBuild } from '../support/built-service';

const missing = missingPackages('postgres', 'pgbackrest');

/** The short form of `npm run drill:restore`. */
describe('after the disk of the database was lost', () => {
  beforeAll(ensureBuild, BUILD_TIMEOUT_MS);

  const name = 'a restore to an earlier moment loses no rouble, and nothing is bought twice';
  if (missing.length > 0) {
    it.skip(`${name} (not tried: there is no ${missing.join(', ')})`, () => undefined);
  } else {
    it(
      name,
      async () => {
        const report = await runRestore({
          customers: 3,
          pauseMs: 100,
          secondsBetween: 1,
          secondsLost: 2,
          archiveTimeoutSeconds: 1,
        });
        expect(report.violations).toEqual([]);
        expect(report.orders.lost).toBeGreaterThan(0);
        expect(report.decided.orphans).toBeGreaterThan(0);
      },
      300_000,
    );
  }
});
