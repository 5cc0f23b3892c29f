import { RenewalJob } from '../../src/renewals';
import type { TestService } from './test-service';

/** Runs the renewals that are due, as if the last run had been long ago. */
export async function runRenewals(service: TestService, cutOff?: AbortSignal): Promise<void> {
  await service.dataSource.query(`UPDATE job_runs SET finished_at = now() WHERE name = 'renewals'`);
  Reflect.set(service.app.get(RenewalJob), 'plannedAtMs', -Infinity);
  await service.runJob('renewals', cutOff);
}
