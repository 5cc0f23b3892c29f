import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { PricePreviewOut, PricesUnknown, PricePreviewService } from '../../catalog';
import { Conditions, type Queryable, queryRows } from '../../database';
import { IdParam, readPage } from '../../http';
import {
  invalidPeriods,
  invalidTimes,
  noPriceChange,
  PriceChangeTooLate,
  PriceRuleEnded,
  PriceRuleNotFound,
  PriceRuleWithoutEffect,
  TooManyPriceRules,
  MarkupHistoryService,
  OPEN_PRICE_RULES,
  type PriceChange,
  PriceRulesService,
} from '../../pricing';
import { UserNotFound, UsersService } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import { usernameSql } from '../links';
import { CurrentAudit, OWN_ACCOUNT_ERRORS, notFound, StaffRoute } from '../staff-route';
import {
  AddedPriceRuleOut,
  EndPriceRuleRequest,
  HeldMarkupOut,
  NewPriceRuleRequest,
  PreviewRequest,
  PriceRuleOut,
  PriceRulesPage,
  PriceRulesQuery,
  ApplyingRuleQuery,
  toNewPriceRule,
} from './staff-prices.dto';

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

const SELECT_RULES = `
  SELECT id, user_id, ${usernameSql('price_rules.user_id')} AS username, country, version, min_period,
         max_period, markup_percent, valid_from, valid_to, created_at, created_by, reason, ended_at, ended_by,
         end_reason
    FROM price_rules`;

@ApiTags('Prices')
@Controller('staff/price-rules')
export class StaffPricesController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly rules: PriceRulesService,
    private readonly history: MarkupHistoryService,
    private readonly previews: PricePreviewService,
    private readonly users: UsersService,
    private readonly auditLog: AuditLogService,
  ) {}

  @Get()
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.list',
    summary: 'List price rules',
    description:
      'For pricing: current and future price rules, for all users or for one, newest first. `history` ' +
      'includes ended rules.',
    response: { description: 'A page of rules, newest first', type: PriceRulesPage },
  })
  list(@Query() query: PriceRulesQuery): Promise<PriceRulesPage> {
    return readPage(query, (page) => {
      const conditions = new Conditions();
      if (!query.history) conditions.add(OPEN_PRICE_RULES);
      conditions.by(query.user_id, (id) => `user_id = ${id}`);
      const statement = `${SELECT_RULES} ${conditions.toPageSql(page)}`;
      return queryRows<PriceRuleOut>(this.dataSource, statement, conditions.parameters);
    });
  }

  @Get('which')
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.which',
    summary: 'Show which markup applies',
    description:
      'For support, when a customer questions a price: the markup of an offer, now or at another time, ' +
      "and the rule that sets it. Omit the country for a quote. For a future time, today's rules are " +
      'used.',
    response: { description: 'The markup', type: HeldMarkupOut },
    errors: { 404: notFound(UserNotFound) },
  })
  async which(@Query() query: ApplyingRuleQuery): Promise<HeldMarkupOut> {
    const { user_id: userId, at: moment, ...offer } = query;
    if (userId !== null) await this.users.assertExists(userId);
    const country = offer.country?.toLowerCase() ?? null;
    const { percent, ruleId, dearerRuleId, at } = await this.history.heldAt(
      { ...offer, userId, country },
      moment ?? undefined,
    );
    const ruleOf = async (id: number | null) => (id === null ? null : this.get(id));
    return {
      at,
      markup_percent: percent,
      rule: await ruleOf(ruleId),
      dearer_rule: await ruleOf(dearerRuleId),
    };
  }

  @Get(':rule_id')
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.read',
    on: 'price-rule',
    summary: 'Show a price rule',
    description:
      'For investigating an order or an audit log record: a price rule, with who added and ended it, ' +
      'and why.',
    response: { description: 'The rule', type: PriceRuleOut },
    errors: { 404: notFound(PriceRuleNotFound) },
  })
  read(@IdParam('rule_id') ruleId: number): Promise<PriceRuleOut> {
    return this.get(ruleId);
  }

  @Post()
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.add',
    summary: 'Add a price rule',
    description:
      'For pricing; preview the change first. A field that is omitted or `null` matches everything; ' +
      '`version` is `"6"`, `"4"` or `"4s"`. Of the rules that match an offer, the most specific one ' +
      'applies: by user, then by country, version and the fewest periods, and finally the newest. ' +
      'Without `valid_from`, the rule begins in one or two seconds. It begins at the same moment on ' +
      'every replica, when the rule that it `replaces` ends. A rule for a country can only lower a ' +
      'price: it applies where it is cheaper than the quote, and is refused if that is never the case. ' +
      'To raise the price in one country, raise the markup of the version, and add a rule for each ' +
      'other country that keeps its current markup. `preview` in the response shows where the rule ' +
      'applies, and what sets the other prices.',
    status: 201,
    response: { description: 'The rule', type: AddedPriceRuleOut },
    errors: {
      400: [
        'Nothing was changed',
        invalidTimes(),
        invalidPeriods(),
        new PriceRuleWithoutEffect('The prices are set by the default markup'),
      ],
      403: OWN_ACCOUNT_ERRORS,
      404: notFound(PriceRuleNotFound, UserNotFound),
      409: ['Nothing was changed', PriceRuleEnded, PriceChangeTooLate, new TooManyPriceRules(10_000)],
    },
  })
  async add(
    @CurrentAudit() audit: AuditContext,
    @Body() body: NewPriceRuleRequest,
  ): Promise<AddedPriceRuleOut> {
    const { replaces, reason, ...rule } = body;
    audit.assertConcernsAnother(rule.user_id);
    const by = await this.nameOf(audit);
    // If the change succeeds, the rule has not changed since this read, because rules change only once.
    const before = replaces === null ? undefined : await this.get(replaces);
    audit.assertConcernsAnother(before?.user_id);
    const preview = await this.previewIfKnown({ add: toNewPriceRule(rule), end: replaces ?? undefined });
    if (rule.country !== null && preview && isWithoutEffect(preview)) {
      throw new PriceRuleWithoutEffect(preview.unchanged_because ?? '');
    }
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const signature = { by, reason };
      const added = await this.rules.add(toNewPriceRule(rule), signature, replaces ?? undefined, manager);
      const after = await this.get(added.id, manager);
      await record({ target: { type: 'price-rule', id: added.id }, reason, before, after });
      await this.rules.assertAhead(added.validFrom, manager);
      return Object.assign(after, { preview });
    });
  }

  @Post('preview')
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.preview',
    summary: 'Preview a change to the price rules',
    description:
      'For pricing, before a change: the price of one proxy before and after the change, for every ' +
      'version and period for sale that is affected by a rule to `add`, a rule to `end`, or both. ' +
      'Changes nothing.',
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
      503: ["The provider's prices are not known yet", PricesUnknown],
    },
  })
  async preview(@Body() body: PreviewRequest): Promise<PricePreviewOut> {
    const { add, end } = body;
    if (add && add.user_id !== null) await this.users.assertExists(add.user_id);
    return this.previews.preview({ add: add ? toNewPriceRule(add) : undefined, end: end ?? undefined });
  }

  @Post(':rule_id/end')
  @StaffRoute({
    scope: 'staff:system',
    action: 'prices.end',
    on: 'price-rule',
    summary: 'End a price rule',
    description:
      'For pricing: ends a rule at the given time, or in one or two seconds. A rule that has not begun ' +
      'by then never applies. The end of a rule can be set only once.',
    response: { description: 'The rule', type: PriceRuleOut },
    errors: {
      400: ['Nothing was changed', invalidTimes()],
      403: OWN_ACCOUNT_ERRORS,
      404: notFound(PriceRuleNotFound),
      409: ['Nothing was changed', PriceRuleEnded, PriceChangeTooLate],
    },
  })
  async end(
    @CurrentAudit() audit: AuditContext,
    @IdParam('rule_id') ruleId: number,
    @Body() body: EndPriceRuleRequest,
  ): Promise<PriceRuleOut> {
    const { at, reason } = body;
    const by = await this.nameOf(audit);
    const before = await this.get(ruleId);
    audit.assertConcernsAnother(before.user_id);
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const ended = await this.rules.end(ruleId, { by, reason }, at ?? undefined, manager);
      const after = await this.get(ended.id, manager);
      await record({ reason, before, after });
      await this.rules.assertAhead(ended.validTo, manager);
      return after;
    });
  }

  private async get(id: number, queryable: Queryable = this.dataSource): Promise<PriceRuleOut> {
    const [rule] = await queryRows<PriceRuleOut>(queryable, `${SELECT_RULES} WHERE id = $1`, [id]);
    if (!rule) throw new PriceRuleNotFound();
    return rule;
  }

  private async previewIfKnown(change: PriceChange): Promise<PricePreviewOut | null> {
    try {
      return await this.previews.preview(change);
    } catch (error) {
      if (error instanceof PricesUnknown) return null;
      throw error;
    }
  }

  /** Returns an author such as `boris (42)`, or the name from the command. */
  private async nameOf({ caller, by }: AuditContext): Promise<string> {
    if (by !== undefined) return by;
    if (!caller) throw new Error('a price change on the command line lacks a name');
    const user = await this.users.find(caller.userId);
    return `${user?.username ?? user?.webUsername ?? 'user'} (${caller.userId})`;
  }
}

/** Returns whether the rule matches some offers, but determines the price of none. */
const isWithoutEffect = ({ offers }: PricePreviewOut): boolean =>
  offers.length > 0 && offers.every(({ after }) => after.by !== 'new');
