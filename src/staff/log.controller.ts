import { Controller, Get, Query } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { type CatalogedScope, ScopeCatalog } from '../auth';
import { parseTarget } from './act';
import { type ActionOut, ActionsPage, ActionsQuery, ActionTarget } from './dto/action.dto';
import { ApiLimitErrorResponse, type Page, toPage } from './dto/fields';
import { ScopeOut } from './dto/scope.dto';
import { StaffLog } from './staff-log';
import { StaffRoute } from './staff-route';

@ApiTags('Access and log')
@ApiExtraModels(ActionTarget)
@Controller('staff')
export class LogController {
  constructor(
    private readonly log: StaffLog,
    private readonly scopes: ScopeCatalog,
  ) {}

  @Get('scopes')
  @StaffRoute({
    scope: 'staff:tokens',
    action: 'scopes.list',
    summary: 'Scopes',
    description:
      'For whoever issues tokens: every scope with what it grants and the routes that need it, as the running service has them.',
  })
  @ApiOkResponse({ description: 'All scopes', type: [ScopeOut] })
  listScopes(): readonly CatalogedScope[] {
    return this.scopes.list();
  }

  @Get('actions')
  @StaffRoute({
    scope: 'staff:audit',
    action: 'actions.search',
    summary: 'Log of actions',
    description:
      'For supervisors and investigations: everything that staff did or looked at, newest first, who it was, from where, and for changes ' +
      'what was there before and after. `target` is for example `user:42`, `token:17` or `order:815`; `from` is included and `to` is not. Every line is kept for good.',
  })
  @ApiOkResponse({ description: 'A page of the log, newest first', type: ActionsPage })
  @ApiLimitErrorResponse()
  async search(@Query() query: ActionsQuery): Promise<Page<ActionOut>> {
    const { user_id: userId, action, target, from, to, cursor, limit } = query;
    const filter = { userId, action, target: target === null ? null : parseTarget(target), from, to };
    return toPage(await this.log.search(filter, { cursor, limit: limit + 1 }), limit, ({ id }) => id);
  }
}
