export { AuditRuns } from './audit-runs.service';
export { IntegrityJobsModule } from './integrity-jobs.module';
export { IntegrityModule } from './integrity.module';
export { IntegrityService, type IntegrityReport } from './integrity.service';
