export { AuditModule } from './audit.module';
export { AuditService, type AuditReport } from './audit.service';
