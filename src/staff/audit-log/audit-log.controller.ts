import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { INVALID_PERIOD } from '../../http';
import { StaffRoute } from '../staff-route';
import { ActionsPage, ActionsQuery } from './audit-log.dto';
import { AuditLogService } from './audit-log.service';

@ApiTags('Access and log')
@Controller('staff/actions')
export class AuditLogController {
  constructor(private readonly auditLog: AuditLogService) {}

  @Get()
  @StaffRoute({
    scope: 'staff:audit',
    action: 'actions.search',
    summary: 'Search the audit log',
    description:
      'For supervisors and investigations: all changes and reads by staff, newest first, with the ' +
      'staff member, the address, and the state before and after each change. `target` is, for ' +
      'example, `user:42`, `token:17` or `order:815`. Changes are stored forever; reads may be removed ' +
      'after a year (AUDIT_LOG_READ_DAYS).',
    response: { description: 'A page of records, newest first', type: ActionsPage },
    errors: { 400: INVALID_PERIOD },
  })
  search(@Query() query: ActionsQuery): Promise<ActionsPage> {
    return this.auditLog.search(query);
  }
}
