import { Controller, Get, Query } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import { StaffRoute } from '../staff-route';
import { parseTarget } from './audit-context';
import { SearchAuditLogDocs } from './audit-log.docs';
import { ActionsPage, ActionsQuery, ActionTarget, TokenIssuer } from './audit-log.dto';
import { AuditLogService } from './audit-log.service';

@ApiTags('Access and log')
@ApiExtraModels(ActionTarget, TokenIssuer)
@Controller('staff/actions')
export class AuditLogController {
  constructor(private readonly auditLog: AuditLogService) {}

  @Get()
  @SearchAuditLogDocs()
  @StaffRoute({ scope: 'staff:audit', action: 'actions.search' })
  search(@Query() query: ActionsQuery): Promise<ActionsPage> {
    const { user_id: userId, action, target, from, to } = query;
    return this.auditLog.search(
      { userId, action, target: target === null ? null : parseTarget(target), from, to },
      query,
    );
  }
}
