import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiExtraModels,
  ApiOkResponse,
  ApiQuery,
  ApiTags,
} from '@nestjs/swagger';
import { type PricePreview, PricePreviewService } from '../catalog';
import { ApiErrorResponse, ApiValidationErrorResponse, IdParam } from '../http';
import { type NewPriceRule, PriceRulesService } from '../pricing';
import type { Act } from './act';
import { type Page, toPage } from './dto/fields';
import { ApiRuleId } from './dto/path-ids';
import {
  EndPriceRuleRequest,
  HeldMarkupOut,
  NewPriceRuleRequest,
  PreviewRequest,
  PricePreviewOut,
  PriceRuleFields,
  PriceRuleOut,
  PriceRulesPage,
  PriceRulesQuery,
  WhichQuery,
} from './dto/price-rule.dto';
import { type PriceRuleRow, StaffPricesService, toPriceRuleRow } from './staff-prices.service';
import { CurrentAct, StaffRoute } from './staff-route';

const ON_RULE = ['price-rule', 'rule_id'] as const;
const ApiRuleNotFound = (...others: readonly string[]) =>
  ApiErrorResponse(404, 'There is no such rule', 'Price rule not found', ...others);
const ApiInvalidRule = (...others: readonly string[]) =>
  ApiErrorResponse(
    400,
    'Nothing was changed',
    'A change begins 1 s from now or later, and ends after it has begun',
    ...others,
  );
const INVALID_PERIODS = 'The periods must be whole numbers from 1 to 3650, the first not above the last';
const ENDED = 'The end of this price rule is written already, or comes sooner';
const TOO_LATE =
  'The change took too long to be known everywhere when it takes effect, and was not made: try again, or name a later moment';
const ApiInvalidMarkup = () =>
  ApiValidationErrorResponse({
    type: 'missing',
    loc: ['body', 'markup_percent'],
    msg: 'Field required',
    input: {},
  });

const toNewRule = (fields: PriceRuleFields): NewPriceRule => ({
  userId: fields.user_id ?? undefined,
  country: fields.country ?? undefined,
  version: fields.version ?? undefined,
  minPeriod: fields.min_period ?? undefined,
  maxPeriod: fields.max_period ?? undefined,
  markupPercent: fields.markup_percent,
  validFrom: fields.valid_from ?? undefined,
  validTo: fields.valid_to ?? undefined,
});

@ApiTags('Prices')
@ApiExtraModels(PriceRuleFields)
@Controller('staff/price-rules')
export class StaffPricesController {
  constructor(
    private readonly rules: PriceRulesService,
    private readonly previews: PricePreviewService,
    private readonly changes: StaffPricesService,
  ) {}

  @Get()
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.list',
    summary: 'Price rules',
    description:
      'For whoever makes the prices: the rules of the markup that hold or will, of all users or of one; with `history` also those that no longer do. ' +
      'Newest first.',
  })
  @ApiOkResponse({ description: 'A page of rules, newest first', type: PriceRulesPage })
  @ApiValidationErrorResponse({
    type: 'less_than_equal',
    loc: ['query', 'limit'],
    msg: 'Input should be less than or equal to 200',
    input: '1000',
    ctx: { le: 200 },
  })
  async list(
    @Query() { history, user_id: userId, cursor, limit }: PriceRulesQuery,
  ): Promise<Page<PriceRuleRow>> {
    const rules = await this.rules.list({
      history,
      userId: userId ?? undefined,
      before: cursor ?? undefined,
      limit: limit + 1,
    });
    return toPage(rules.map(toPriceRuleRow), limit, ({ id }) => id);
  }

  @Get('which')
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.which',
    summary: 'Which markup holds',
    description:
      'For support, when a customer asks why a price is what it is: the markup of an offer, now or at a moment, and the rule that says so. ' +
      'A quote names no country; for a moment to come it is as things stand.',
  })
  @ApiQuery({ name: 'period', description: 'Days', example: 30 })
  @ApiOkResponse({ description: 'The markup', type: HeldMarkupOut })
  @ApiValidationErrorResponse({
    type: 'missing',
    loc: ['query', 'period'],
    msg: 'Field required',
    input: null,
  })
  async which(@Query() query: WhichQuery): Promise<HeldMarkupOut> {
    const { user_id: userId, country, version, period, at: moment } = query;
    const offer = { userId, country: country?.toLowerCase() ?? null, version, period };
    const { percent, rule, at } = await this.rules.heldAt(offer, moment ?? undefined);
    return { at, markup_percent: percent, rule: rule && toPriceRuleRow(rule) };
  }

  @Get(':rule_id')
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.read',
    on: ON_RULE,
    summary: 'One price rule',
    description:
      'For whoever follows up an order or a line of the log: a rule with who added and ended it, and why.',
  })
  @ApiRuleId()
  @ApiOkResponse({ description: 'The rule', type: PriceRuleOut })
  @ApiRuleNotFound()
  @ApiValidationErrorResponse({
    type: 'int_parsing',
    loc: ['path', 'rule_id'],
    msg: 'Input should be a valid integer, unable to parse string as an integer',
    input: 'first',
  })
  async read(@IdParam('rule_id') ruleId: number): Promise<PriceRuleRow> {
    return toPriceRuleRow(await this.rules.get(ruleId));
  }

  @Post()
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.add',
    summary: 'Add a price rule',
    description:
      'For whoever makes the prices. Preview it first. What is left out stands for all; of the rules that fit an offer the most specific one holds: by user, ' +
      'then country, version, the fewest periods, then the newest. It begins in a second or two, when no moment is named, at the same moment on every replica; the rule ' +
      'that it `replaces` ends then. A rule for a country counts where it is cheaper than the quote.',
  })
  @ApiBody({
    type: NewPriceRuleRequest,
    examples: {
      customer: { value: { user_id: 42, markup_percent: '12.5', reason: 'Contract 815' } },
      week: {
        value: {
          version: '6',
          min_period: 30,
          markup_percent: '5',
          valid_from: '2026-12-24T00:00:00Z',
          valid_to: '2026-12-31T00:00:00Z',
          reason: 'A week of sales',
        },
      },
      replacement: { value: { user_id: 42, markup_percent: '10', replaces: 5, reason: 'Contract 816' } },
    },
  })
  @ApiCreatedResponse({ description: 'The rule', type: PriceRuleOut })
  @ApiInvalidRule(INVALID_PERIODS)
  @ApiRuleNotFound('User not found')
  @ApiErrorResponse(
    409,
    'Nothing was changed',
    ENDED,
    TOO_LATE,
    'There are 10000 price rules that hold or will: end some first',
  )
  @ApiInvalidMarkup()
  add(@CurrentAct() act: Act, @Body() body: NewPriceRuleRequest): Promise<PriceRuleRow> {
    const { reason, replaces } = body;
    return this.changes.add(act, toNewRule(body), { reason, replaces: replaces ?? undefined });
  }

  @Post('preview')
  @HttpCode(200)
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.preview',
    summary: 'Preview a change of the price rules',
    description:
      'For whoever makes the prices, before they do: what one proxy would cost before and after, for every version and period on sale that a rule to `add`, ' +
      'one to `end`, or both would touch. Changes nothing.',
  })
  @ApiBody({
    type: PreviewRequest,
    examples: {
      add: { value: { add: { user_id: 42, markup_percent: '12.5' } } },
      end: { value: { end: 5 } },
      replacement: { value: { add: { user_id: 42, markup_percent: '10' }, end: 5 } },
    },
  })
  @ApiOkResponse({ description: 'The prices before and after', type: PricePreviewOut })
  @ApiInvalidRule(INVALID_PERIODS, 'Name a rule to add, one to end, or both')
  @ApiRuleNotFound()
  @ApiErrorResponse(409, 'There is nothing to compare', ENDED)
  @ApiErrorResponse(503, 'Not known yet', 'The provider has not named its prices yet: ask for a price first')
  @ApiValidationErrorResponse({
    type: 'missing',
    loc: ['body', 'add', 'markup_percent'],
    msg: 'Field required',
    input: {},
  })
  preview(@Body() { add, end }: PreviewRequest): Promise<PricePreview> {
    return this.previews.preview({ add: add ? toNewRule(add) : undefined, end: end ?? undefined });
  }

  @Post(':rule_id/end')
  @HttpCode(200)
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.end',
    on: ON_RULE,
    summary: 'End a price rule',
    description:
      'For whoever makes the prices: at a moment, or in a second or two. A rule that has not begun never will. Its end is written once.',
  })
  @ApiRuleId()
  @ApiBody({
    type: EndPriceRuleRequest,
    examples: {
      now: { value: { reason: 'Contract 815 ended' } },
      later: { value: { at: '2026-12-31T21:00:00Z', reason: 'Contract 815 ends' } },
    },
  })
  @ApiOkResponse({ description: 'The rule', type: PriceRuleOut })
  @ApiInvalidRule()
  @ApiRuleNotFound()
  @ApiErrorResponse(409, 'Nothing was changed', ENDED, TOO_LATE)
  @ApiValidationErrorResponse({ type: 'missing', loc: ['body', 'reason'], msg: 'Field required', input: {} })
  end(
    @CurrentAct() act: Act,
    @IdParam('rule_id') ruleId: number,
    @Body() { reason, at }: EndPriceRuleRequest,
  ): Promise<PriceRuleRow> {
    return this.changes.end(act, ruleId, { reason, at: at ?? undefined });
  }
}
