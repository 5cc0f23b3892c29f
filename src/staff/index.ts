export { AuditContext, type TargetType } from './audit-log/audit-context';
export { auditContextOf } from './audit-log/audit-log.interceptor';
export { AuditLogService } from './audit-log/audit-log.service';
export { CommandRequest } from './audit-log/command-request';
export { STAFF_OPERATIONS, type StaffOperation } from './staff-operations';
export { PriceRuleFields } from './prices/staff-prices.dto';
export { StaffPaymentsModule } from './payments/staff-payments.module';
export { StaffModule } from './staff.module';
export { StaffSystemService } from './system/staff-system.service';
