import { Body, Controller, Delete, Get, HttpCode, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller, CurrentUserId, Scopes } from '../auth';
import { IdParam, PageQuery } from '../http';
import { type ForecastOut, ForecastQuery } from './forecast.dto';
import { ForecastService } from './forecast.service';
import { RenewalLists } from './renewal-lists.service';
import type { RenewalsPage } from './renewal.dto';
import {
  CreateRuleDocs,
  DeleteRuleDocs,
  DeleteRulesDocs,
  ExcludeDocs,
  ForecastDocs,
  GetBudgetDocs,
  ListRenewalsDocs,
  ListRulesDocs,
  PutBudgetDocs,
} from './renewals.docs';
import {
  type BudgetOut,
  BudgetRequest,
  ExclusionRequest,
  NewRenewalRuleRequest,
  type RenewalRuleOut,
  type RenewalRulesPage,
  type SwitchedOffOut,
} from './rules.dto';
import { RulesService } from './rules.service';

/** Where only `proxies:read` is required, the service asks for more when a change could cost more. */
@ApiTags('Renewals')
@Controller('renewals')
export class RenewalsController {
  constructor(
    private readonly rules: RulesService,
    private readonly renewals: RenewalLists,
    private readonly forecasts: ForecastService,
  ) {}

  @Get()
  @ListRenewalsDocs()
  @Scopes('proxies:read')
  listRenewals(@CurrentUserId() userId: number, @Query() page: PageQuery): Promise<RenewalsPage> {
    return this.renewals.list(userId, page);
  }

  @Get('forecast')
  @ForecastDocs()
  @Scopes('profile:read')
  forecastRenewals(@CurrentUserId() userId: number, @Query() query: ForecastQuery): Promise<ForecastOut> {
    return this.forecasts.read(userId, query);
  }

  @Post('rules')
  @CreateRuleDocs()
  @Scopes('proxies:write')
  createRenewalRule(
    @CurrentCaller() caller: Caller,
    @Body() body: NewRenewalRuleRequest,
  ): Promise<RenewalRuleOut> {
    return this.rules.switchOn(caller, body);
  }

  @Get('rules')
  @ListRulesDocs()
  @Scopes('proxies:read')
  listRenewalRules(@CurrentUserId() userId: number, @Query() page: PageQuery): Promise<RenewalRulesPage> {
    return this.rules.list(userId, page);
  }

  @Delete('rules')
  @DeleteRulesDocs()
  @Scopes('proxies:read')
  async deleteRenewalRules(@CurrentUserId() userId: number): Promise<SwitchedOffOut> {
    return { switched_off: await this.rules.switchAllOff(userId) };
  }

  @Delete('rules/:rule_id')
  @HttpCode(204)
  @DeleteRuleDocs()
  @Scopes('proxies:read')
  async deleteRenewalRule(
    @CurrentCaller() caller: Caller,
    @IdParam('rule_id') ruleId: number,
  ): Promise<void> {
    await this.rules.switchOff(caller, ruleId);
  }

  @Post('exclusions')
  @ExcludeDocs()
  @Scopes('proxies:read')
  excludeFromRenewals(
    @CurrentCaller() caller: Caller,
    @Body() body: ExclusionRequest,
  ): Promise<RenewalRuleOut> {
    return this.rules.exclude(caller, body.proxy_id);
  }

  @Get('budget')
  @GetBudgetDocs()
  @Scopes('proxies:read')
  getRenewalBudget(@CurrentUserId() userId: number): Promise<BudgetOut> {
    return this.rules.budget(userId);
  }

  @Put('budget')
  @PutBudgetDocs()
  @Scopes('proxies:read')
  setRenewalBudget(@CurrentCaller() caller: Caller, @Body() body: BudgetRequest): Promise<BudgetOut> {
    return this.rules.setBudget(caller, body.monthly);
  }
}
