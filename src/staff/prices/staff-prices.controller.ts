import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { PricePreviewOut, PricesUnknown } from '../../catalog';
import { IdParam } from '../../http';
import {
  invalidPeriods,
  invalidTimes,
  noPriceChange,
  PriceChangeTooLate,
  PriceRuleEnded,
  PriceRuleNotFound,
  PriceRuleWithoutEffect,
  TooManyPriceRules,
} from '../../pricing';
import { UserNotFound } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { CurrentAudit, NOT_FOR_ONESELF, notFound, StaffRoute } from '../staff-route';
import {
  AddedPriceRuleOut,
  EndPriceRuleRequest,
  HeldMarkupOut,
  NewPriceRuleRequest,
  PreviewRequest,
  PriceRuleOut,
  PriceRulesPage,
  PriceRulesQuery,
  WhichQuery,
} from './staff-prices.dto';
import { StaffPricesService } from './staff-prices.service';

const PREVIEWED = {
  at: '2026-11-21T12:00:02.000Z',
  provider_prices_of: '2026-11-21T11:58:00.000Z',
  changed: 1,
  unchanged_because: null,
  offers: [
    {
      user_id: 42,
      version: '6',
      period: 30,
      country: null,
      before: { markup_percent: '20.0000', by: 'default', unit_price: '8.36' },
      after: { markup_percent: '12.5000', by: 'new', unit_price: '7.84' },
    },
  ],
} satisfies Record<keyof PricePreviewOut, unknown>;

@ApiTags('Prices')
@Controller('staff/price-rules')
export class StaffPricesController {
  constructor(private readonly prices: StaffPricesService) {}

  @Get()
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.list',
    summary: 'List price rules',
    description:
      'For pricing: current and future price rules, of all users or of one, newest first. With ' +
      '`history`, also ended ones.',
    response: { description: 'A page of rules, newest first', type: PriceRulesPage },
  })
  list(@Query() query: PriceRulesQuery): Promise<PriceRulesPage> {
    return this.prices.list(query);
  }

  @Get('which')
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.which',
    summary: 'Show which markup applies',
    description:
      'For support, when a customer questions a price: the markup of an offer, now or at another ' +
      "time, and the rule that sets it. A quote has no country. For a future time, today's rules " +
      'apply.',
    response: { description: 'The markup', type: HeldMarkupOut },
    errors: { 404: notFound(UserNotFound) },
  })
  which(@Query() query: WhichQuery): Promise<HeldMarkupOut> {
    return this.prices.findMarkup(query);
  }

  @Get(':rule_id')
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.read',
    on: 'price-rule',
    summary: 'Show a price rule',
    description:
      'For investigations of an order or a record of the audit log: a price rule, with who added and ' +
      'ended it and why.',
    response: { description: 'The rule', type: PriceRuleOut },
    errors: { 404: notFound(PriceRuleNotFound) },
  })
  read(@IdParam('rule_id') ruleId: number): Promise<PriceRuleOut> {
    return this.prices.get(ruleId);
  }

  @Post()
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.add',
    summary: 'Add a price rule',
    description:
      'For pricing; preview the change first. An omitted field matches all. Of the rules that match ' +
      'an offer, the most specific one applies: by user, then by country, version and the fewest ' +
      'periods, then the newest. Without `valid_from` the rule begins in one or two seconds. It ' +
      'begins at the same moment on every replica, and the rule that it `replaces` ends then. A rule ' +
      'for a country can only lower a price: it applies where it is cheaper than the quote, and is refused ' +
      'if that is nowhere. `preview` of the response shows where the rule applies, and what sets the other ' +
      'prices.',
    status: 201,
    response: { description: 'The rule', type: AddedPriceRuleOut },
    errors: {
      400: [
        'Nothing was changed',
        invalidTimes(),
        invalidPeriods(),
        new PriceRuleWithoutEffect('The prices are set by the default markup'),
      ],
      403: NOT_FOR_ONESELF,
      404: notFound(PriceRuleNotFound, UserNotFound),
      409: ['Nothing was changed', PriceRuleEnded, PriceChangeTooLate, new TooManyPriceRules(10_000)],
    },
  })
  add(@CurrentAudit() audit: AuditContext, @Body() body: NewPriceRuleRequest): Promise<AddedPriceRuleOut> {
    return this.prices.add(audit, body);
  }

  @Post('preview')
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.preview',
    summary: 'Preview a change of the price rules',
    description:
      'For pricing, before a change: the price of one proxy before and after, for every version and ' +
      'period on sale that is affected by a rule to `add`, a rule to `end`, or both. Changes nothing.',
    body: {
      type: PreviewRequest,
      examples: {
        add: { value: { add: { country: 'ru', version: '6', markup_percent: '12.5' } } },
        end: { value: { end: 5 } },
        replacement: { value: { add: { user_id: 42, markup_percent: '10' }, end: 5 } },
      },
    },
    response: { description: 'The prices before and after', type: PricePreviewOut, example: PREVIEWED },
    errors: {
      400: ['The change is invalid', invalidTimes(), invalidPeriods(), noPriceChange()],
      404: notFound(PriceRuleNotFound, UserNotFound),
      409: ['There is nothing to compare', PriceRuleEnded],
      503: ['The prices of the provider are not known yet', PricesUnknown],
    },
  })
  preview(@Body() body: PreviewRequest): Promise<PricePreviewOut> {
    return this.prices.preview(body);
  }

  @Post(':rule_id/end')
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.end',
    on: 'price-rule',
    summary: 'End a price rule',
    description:
      'For pricing: ends a rule at the given time, or in one or two seconds. A rule that has not ' +
      'begun by then never applies. The end of a rule is set once.',
    response: { description: 'The rule', type: PriceRuleOut },
    errors: {
      400: ['Nothing was changed', invalidTimes()],
      403: NOT_FOR_ONESELF,
      404: notFound(PriceRuleNotFound),
      409: ['Nothing was changed', PriceRuleEnded, PriceChangeTooLate],
    },
  })
  end(
    @CurrentAudit() audit: AuditContext,
    @IdParam('rule_id') ruleId: number,
    @Body() body: EndPriceRuleRequest,
  ): Promise<PriceRuleOut> {
    return this.prices.end(audit, ruleId, body);
  }
}
