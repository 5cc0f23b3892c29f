import { Body, Controller, Delete, Get, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller, CurrentUserId, Route } from '../auth';
import { PeriodTooShort } from '../catalog';
import { IdParam, PageQuery } from '../http';
import { ProxyNotFound } from '../proxies';
import { ForecastOut, ForecastQuery } from './forecast.dto';
import { ForecastService } from './forecast.service';
import { RenewalsPage } from './renewal.dto';
import {
  LimitedTokenCannotRenew,
  RenewalRuleNotFound,
  TargetMismatch,
  TooManyRenewalRules,
} from './renewals.errors';
import {
  BudgetOut,
  BudgetRequest,
  ExclusionRequest,
  NewRenewalRuleRequest,
  RenewalRuleOut,
  RenewalRulesPage,
  DisabledRulesOut,
} from './rules.dto';
import { RulesService } from './rules.service';
import { RenewalRecords } from './running/renewal-records';

@ApiTags('Renewals')
@Controller('renewals')
export class RenewalsController {
  constructor(
    private readonly rules: RulesService,
    private readonly renewals: RenewalRecords,
    private readonly forecasts: ForecastService,
  ) {}

  @Get()
  @Route({
    scope: 'proxies:read',
    summary: 'List renewals',
    description:
      'Planned, done, skipped and failed renewals, newest first. Each rental with a rule has one ' +
      'renewal, from a week before the rental ends. The forecast shows later renewals.',
    response: { description: 'A page of renewals, newest first', type: RenewalsPage },
  })
  listRenewals(@CurrentUserId() userId: number, @Query() page: PageQuery): Promise<RenewalsPage> {
    return this.renewals.list(userId, page);
  }

  @Get('forecast')
  @Route({
    scope: 'profile:read',
    summary: 'Forecast renewals',
    description:
      'Future renewals with their times and prices, failures with their reasons, and how long the ' +
      'balance will last. The forecast simulates the coming days with the code that decides renewals, ' +
      "using today's prices, rules, labels and tags, and assuming no other orders or credits. `items` " +
      'contains the decisions in chronological order, paginated; all other fields describe the whole ' +
      'forecast, on every page. Each page is a new forecast.',
    response: { description: 'The forecast', type: ForecastOut },
  })
  forecastRenewals(@CurrentUserId() userId: number, @Query() query: ForecastQuery): Promise<ForecastOut> {
    return this.forecasts.read(userId, query);
  }

  @Post('rules')
  @Route({
    scope: 'proxies:write',
    summary: 'Enable renewals',
    description:
      'From now on, rentals to which the rule applies are renewed from the balance before they end. ' +
      'The narrowest rule applies: a rule for the proxy, then the newest rule with a filter, then the ' +
      'rule for all proxies. A rule replaces an existing one with the same target, so a retry changes ' +
      'nothing.',
    status: 201,
    response: { description: 'The enabled rule', type: RenewalRuleOut },
    body: {
      type: NewRenewalRuleRequest,
      examples: {
        'All proxies with a tag': {
          value: {
            target: 'filter',
            filter: { tag: 'team-a' },
            period: 30,
            max_price: '30.00',
            hours_before: 24,
          },
        },
        'One proxy': { value: { target: 'proxy', proxy_id: '1', period: 30 } },
        'All proxies': { value: { target: 'all', period: 30, max_price: '30.00' } },
      },
    },
    errors: {
      400: [
        'The target does not match the other fields, or the period is not sold for the proxy',
        TargetMismatch,
        new PeriodTooShort('renewal', 'IPv6', 3),
      ],
      403: ['it has a daily limit', LimitedTokenCannotRenew],
      404: ['The user has no such proxy', ProxyNotFound],
      409: ['The user has too many rules with a filter', new TooManyRenewalRules(100)],
    },
  })
  createRenewalRule(
    @CurrentCaller() caller: Caller,
    @Body() body: NewRenewalRuleRequest,
  ): Promise<RenewalRuleOut> {
    return this.rules.enable(caller, body);
  }

  @Get('rules')
  @Route({
    scope: 'proxies:read',
    summary: 'List renewal rules',
    description: 'The enabled rules, including exclusions.',
    response: { description: 'A page of rules, oldest first', type: RenewalRulesPage },
  })
  listRenewalRules(@CurrentUserId() userId: number, @Query() page: PageQuery): Promise<RenewalRulesPage> {
    return this.rules.list(userId, page);
  }

  @Delete('rules')
  @Route({
    scope: 'proxies:write',
    summary: 'Disable all renewals',
    description:
      'Disables every rule at once, except exclusions. Orders that were already placed are still ' +
      'executed.',
    response: { description: 'The number of rules that were disabled', type: DisabledRulesOut },
  })
  async deleteRenewalRules(@CurrentUserId() userId: number): Promise<DisabledRulesOut> {
    return { disabled: await this.rules.disableAll(userId) };
  }

  @Delete('rules/:rule_id')
  @Route({
    scope: 'proxies:write',
    summary: 'Disable a rule',
    description:
      'From now on, the rule does not apply. The next wider rule, if there is one, applies instead; ' +
      'because it can cost more, a token with a daily limit is then refused. Orders that were already ' +
      'placed are still executed.',
    status: 204,
    response: { description: 'The rule was disabled' },
    errors: {
      403: ['it has a daily limit, and a wider rule would apply', LimitedTokenCannotRenew],
      404: ['The user has no enabled rule with this id', RenewalRuleNotFound],
    },
  })
  async deleteRenewalRule(
    @CurrentCaller() caller: Caller,
    @IdParam('rule_id', 'The `id` of an enabled rule', 1) ruleId: number,
  ): Promise<void> {
    await this.rules.disable(caller, ruleId);
  }

  @Post('exclusions')
  @Route({
    scope: 'proxies:write',
    summary: 'Exclude a proxy from renewals',
    description:
      "Disables the proxy's rule, and prevents wider rules from applying to the proxy. A new rule for " +
      'the proxy replaces the exclusion; disabling the exclusion lets wider rules apply again.',
    status: 201,
    response: {
      description: 'The exclusion, a rule that prevents renewals',
      type: RenewalRuleOut,
      example: {
        id: 4,
        target: 'proxy',
        proxy_id: '17',
        filter: null,
        renews: false,
        period: null,
        max_price: null,
        hours_before: 24,
        created_at: '2026-11-21T12:00:00.000Z',
      },
    },
    body: { type: ExclusionRequest, examples: { 'One proxy': { value: { proxy_id: '1' } } } },
    errors: { 404: ['The user has no such proxy', ProxyNotFound] },
  })
  excludeFromRenewals(
    @CurrentCaller() caller: Caller,
    @Body() body: ExclusionRequest,
  ): Promise<RenewalRuleOut> {
    return this.rules.exclude(caller, body.proxy_id);
  }

  @Get('budget')
  @Route({
    scope: 'proxies:read',
    summary: 'Show the renewal budget',
    description:
      'The budget for all renewals of this month (UTC), and how much of it has been used. A renewal ' +
      'counts towards the month in which it is charged.',
    response: { description: 'The budget', type: BudgetOut },
  })
  getRenewalBudget(@CurrentUserId() userId: number): Promise<BudgetOut> {
    return this.rules.budget(userId);
  }

  @Put('budget')
  @Route({
    scope: 'proxies:write',
    summary: 'Set the renewal budget',
    description:
      'The budget applies immediately, including to the current month. A token with a daily limit can ' +
      'set a first budget or lower the existing one.',
    response: { description: 'The budget', type: BudgetOut },
    body: {
      type: BudgetRequest,
      examples: { 'A budget': { value: { monthly: '5000.00' } }, 'No budget': { value: { monthly: null } } },
    },
    errors: { 403: ['it has a daily limit, and would raise or remove the budget', LimitedTokenCannotRenew] },
  })
  setRenewalBudget(@CurrentCaller() caller: Caller, @Body() body: BudgetRequest): Promise<BudgetOut> {
    return this.rules.setBudget(caller, body.monthly);
  }
}
