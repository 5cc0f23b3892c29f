import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type PricePreviewOut, PricePreviewService, PricesUnknown } from '../../catalog';
import { Conditions, type Queryable, queryRows } from '../../database';
import { readPage } from '../../http';
import {
  MarkupHistoryService,
  OPEN_PRICE_RULES,
  type PriceChange,
  PriceRuleNotFound,
  PriceRulesService,
  PriceRuleWithoutEffect,
} from '../../pricing';
import { UsersService } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import { usernameOf } from '../links';
import {
  type AddedPriceRuleOut,
  type EndPriceRuleRequest,
  type HeldMarkupOut,
  type NewPriceRuleRequest,
  type PreviewRequest,
  type PriceRuleOut,
  type PriceRulesPage,
  type PriceRulesQuery,
  toNewPriceRule,
  type WhichQuery,
} from './staff-prices.dto';

const SELECT_RULES = `
  SELECT id, user_id, ${usernameOf('price_rules.user_id')} AS username, country, version, min_period,
         max_period, markup_percent, valid_from, valid_to, created_at, created_by, reason, ended_at, ended_by,
         end_reason
    FROM price_rules`;

@Injectable()
export class StaffPricesService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly rules: PriceRulesService,
    private readonly history: MarkupHistoryService,
    private readonly previews: PricePreviewService,
    private readonly users: UsersService,
    private readonly auditLog: AuditLogService,
  ) {}

  list(query: PriceRulesQuery): Promise<PriceRulesPage> {
    return readPage(query, (page) => {
      const conditions = new Conditions();
      if (!query.history) conditions.add(OPEN_PRICE_RULES);
      conditions.by(query.user_id, (id) => `user_id = ${id}`);
      const statement = `${SELECT_RULES} ${conditions.toPageSql(page)}`;
      return queryRows<PriceRuleOut>(this.dataSource, statement, conditions.parameters);
    });
  }

  /** Returns the markup of an offer at a time, or now, and the rule that sets it. @throws UserNotFound */
  async findMarkup({ user_id: userId, at: moment, ...offer }: WhichQuery): Promise<HeldMarkupOut> {
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

  /**
   * Shows how a change affects the prices.
   *
   * @throws UserNotFound, PricesUnknown, InvalidPriceRule, PriceRuleNotFound, PriceRuleEnded
   */
  async preview({ add, end }: PreviewRequest): Promise<PricePreviewOut> {
    if (add && add.user_id !== null) await this.users.assertExists(add.user_id);
    return this.previews.preview({ add: add ? toNewPriceRule(add) : undefined, end: end ?? undefined });
  }

  /** @throws PriceRuleNotFound */
  async get(id: number, queryable: Queryable = this.dataSource): Promise<PriceRuleOut> {
    const [rule] = await queryRows<PriceRuleOut>(queryable, `${SELECT_RULES} WHERE id = $1`, [id]);
    if (!rule) throw new PriceRuleNotFound();
    return rule;
  }

  /**
   * Adds a price rule, which may replace another one.
   *
   * @throws OwnAccount, InvalidPriceRule, PriceRuleWithoutEffect, UserNotFound, PriceRuleNotFound,
   *   PriceRuleEnded, TooManyPriceRules, PriceChangeTooLate
   */
  async add(
    audit: AuditContext,
    { replaces, reason, ...rule }: NewPriceRuleRequest,
  ): Promise<AddedPriceRuleOut> {
    audit.assertConcernsAnother(rule.user_id);
    const by = await this.nameOf(audit);
    // A rule can be changed only once, so if this change succeeds, the rule has not changed since this read.
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

  /**
   * Ends a price rule.
   * @throws OwnAccount, InvalidPriceRule, PriceRuleNotFound, PriceRuleEnded, PriceChangeTooLate
   */
  async end(audit: AuditContext, id: number, { at, reason }: EndPriceRuleRequest): Promise<PriceRuleOut> {
    const by = await this.nameOf(audit);
    const before = await this.get(id);
    audit.assertConcernsAnother(before.user_id);
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const ended = await this.rules.end(id, { by, reason }, at ?? undefined, manager);
      const after = await this.get(ended.id, manager);
      await record({ reason, before, after });
      await this.rules.assertAhead(ended.validTo, manager);
      return after;
    });
  }

  private async previewIfKnown(change: PriceChange): Promise<PricePreviewOut | null> {
    try {
      return await this.previews.preview(change);
    } catch (error) {
      if (error instanceof PricesUnknown) return null;
      throw error;
    }
  }

  /** Returns the author that the rule stores, such as `boris (42)`, or the name from a command. */
  private async nameOf({ caller, by }: AuditContext): Promise<string> {
    if (by !== undefined) return by;
    if (!caller) throw new Error('a change of prices on the command line lacks a name');
    const user = await this.users.find(caller.userId);
    return `${user?.username ?? user?.webUsername ?? 'user'} (${caller.userId})`;
  }
}

/** Returns whether the new rule matches offers, but other rules set all their prices. */
const isWithoutEffect = ({ offers }: PricePreviewOut): boolean =>
  offers.length > 0 && offers.every(({ after }) => after.by !== 'new');
