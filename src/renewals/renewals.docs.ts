import { applyDecorators } from '@nestjs/common';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
} from '@nestjs/swagger';
import {
  ApiErrorResponse,
  ApiIdParam,
  ApiValidationErrorResponse,
  LIMIT_TOO_LARGE,
  missing,
  notAnInteger,
} from '../http';
import { ForecastOut } from './forecast.dto';
import { RenewalsPage } from './renewal.dto';
import {
  BudgetOut,
  BudgetRequest,
  ExclusionRequest,
  NewRenewalRuleRequest,
  RenewalRuleOut,
  RenewalRulesPage,
  SwitchedOffOut,
} from './rules.dto';

const DENIED = ['Not enough permissions', 'Address not allowed', 'User is blocked'] as const;
const LIMITED_TOKEN = 'A token with a daily limit cannot switch renewals on';
const TARGET_MISMATCH =
  'target proxy takes proxy_id, target filter takes a filter that is not empty, and target all neither';
const WIDER =
  'A wider rule would hold instead, which requires proxies:write: switch that one off first, or all at once';

export const ListRenewalsDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'List renewals',
      description:
        'What is planned, done, skipped and failed, newest first: one for each rental that a rule holds ' +
        'for, from a week before its end. What comes later is told by the forecast.',
    }),
    ApiOkResponse({ description: 'A page of renewals, newest first', type: RenewalsPage }),
    ApiValidationErrorResponse(LIMIT_TOO_LARGE),
  );

export const ForecastDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Forecast of renewals',
      description:
        'What will be renewed when and at what price, what will not and why, and how long the balance ' +
        'lasts. It lives through the days to come with the very code that decides, at the prices of ' +
        'today, with the rules, labels and tags of today, and as if nothing were bought or credited ' +
        'meanwhile. `items` has every decision, paged and in the order of time; all the rest is about the ' +
        'whole time, on each page. Each page is a forecast of its own moment.',
    }),
    ApiOkResponse({ description: 'The forecast', type: ForecastOut }),
    ApiValidationErrorResponse(LIMIT_TOO_LARGE),
  );

export const CreateRuleDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Switch renewals on',
      description:
        'From now on, rentals that the rule holds for are renewed before they end, from the balance. Of ' +
        'several rules the narrowest holds: that of a proxy, then the newest filter, then the one for all. ' +
        'A rule replaces the one with the same target, so a repeated request changes nothing.',
    }),
    ApiBody({
      type: NewRenewalRuleRequest,
      examples: {
        'All that has a tag': {
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
    }),
    ApiCreatedResponse({ description: 'The rule, which is on', type: RenewalRuleOut }),
    ApiErrorResponse(
      400,
      'The target is not what the other fields say, or the period is not sold for the proxy',
      TARGET_MISMATCH,
      'Minimum renewal period for IPv6 is 3 days',
    ),
    ApiErrorResponse(403, 'The token may not switch renewals on', ...DENIED, LIMITED_TOKEN),
    ApiErrorResponse(404, 'The user has no such proxy', 'Proxy not found'),
    ApiErrorResponse(
      409,
      'The user has too many rules with a filter',
      'There are 100 rules with a filter already: switch some off first',
    ),
    ApiValidationErrorResponse(missing('body', 'period')),
  );

export const ListRulesDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'List renewal rules',
      description: 'The rules that are on, exclusions included.',
    }),
    ApiOkResponse({ description: 'A page of rules, oldest first', type: RenewalRulesPage }),
    ApiValidationErrorResponse(LIMIT_TOO_LARGE),
  );

export const DeleteRuleDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Switch a rule off',
      description:
        'From now on the rule holds for nothing. What it held for is renewed by the next wider rule, if ' +
        'there is one; because that can cost more, the token then needs `proxies:write`. An order that was ' +
        'placed already is carried out.',
    }),
    ApiIdParam('rule_id', 'The `id` of a rule that is on', 1),
    ApiNoContentResponse({ description: 'The rule is off' }),
    ApiErrorResponse(403, 'The token may not do this', ...DENIED, WIDER, LIMITED_TOKEN),
    ApiErrorResponse(404, 'The user has no such rule that is on', 'Renewal rule not found'),
    ApiValidationErrorResponse(notAnInteger('rule_id', 'three')),
  );

export const DeleteRulesDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Switch all renewals off',
      description:
        'Switches every rule off at once, except for exclusions. An order that was placed already is ' +
        'carried out.',
    }),
    ApiOkResponse({ description: 'How many rules were on', type: SwitchedOffOut }),
  );

export const ExcludeDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Exclude a proxy from renewals',
      description:
        'The proxy is not renewed whatever wider rules there are, and its own rule is off. A new rule for ' +
        'the proxy replaces the exclusion; switching the exclusion off lets wider rules hold again.',
    }),
    ApiBody({ type: ExclusionRequest, examples: { 'One proxy': { value: { proxy_id: '1' } } } }),
    ApiCreatedResponse({
      description: 'The exclusion, which is a rule that does not renew',
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
    }),
    ApiErrorResponse(404, 'The user has no such proxy', 'Proxy not found'),
    ApiValidationErrorResponse(missing('body', 'proxy_id')),
  );

export const GetBudgetDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Budget of renewals',
      description:
        'What the renewals of this month (UTC) may cost together, and what is used of it. A renewal ' +
        'counts in the month in which it is charged.',
    }),
    ApiOkResponse({ description: 'The budget', type: BudgetOut }),
  );

export const PutBudgetDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Set the budget of renewals',
      description:
        'Holds from now on, for this month as well. Setting one where there was none, and lowering it, ' +
        'requires `proxies:read` alone; raising or removing it also requires `proxies:write`.',
    }),
    ApiBody({
      type: BudgetRequest,
      examples: { 'A budget': { value: { monthly: '5000.00' } }, 'No budget': { value: { monthly: null } } },
    }),
    ApiOkResponse({ description: 'The budget', type: BudgetOut }),
    ApiErrorResponse(
      403,
      'The token may not do this',
      ...DENIED,
      'Raising or removing the budget requires proxies:write',
      LIMITED_TOKEN,
    ),
    ApiValidationErrorResponse({
      type: 'greater_than',
      loc: ['body', 'monthly'],
      msg: 'Input should be greater than 0',
      input: '-1',
      ctx: { gt: 0 },
    }),
  );
