import { RenewalJob } from '../../src/renewals';
import type { TestService } from './test-service';

export async function runRenewals(service: TestService, cutOff?: AbortSignal): Promise<void> {
  await service.dataSource.query(`UPDATE job_runs SET finished_at = now() WHERE name = 'renewals'`);
  Reflect.set(service.app.get(RenewalJob), 'plannedAtMs', -Infinity);
  await service.runJob('renewals', cutOff);
}
