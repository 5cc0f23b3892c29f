import { Injectable } from '@nestjs/common';
import { type PricePreviewOut, PricePreviewService } from '../../catalog';
import { type PageRequest, readPage } from '../../http';
import {
  MarkupHistoryService,
  type NewPriceRule,
  type PriceChange,
  type PricedOffer,
  type PriceRule,
  PriceRulesService,
} from '../../pricing';
import { type User, UserNotFound, UsersService } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import type { HeldMarkupOut, PriceRuleOut, PriceRulesPage, PriceRulesQuery } from './staff-prices.dto';

const toPriceRuleOut = (rule: PriceRule, user: User | undefined): PriceRuleOut => ({
  id: rule.id,
  user_id: rule.userId,
  username: user?.username ?? user?.webUsername ?? null,
  country: rule.country,
  version: rule.version,
  min_period: rule.minPeriod,
  max_period: rule.maxPeriod,
  markup_percent: rule.markupPercent,
  valid_from: rule.validFrom,
  valid_to: rule.validTo,
  created_at: rule.createdAt,
  created_by: rule.createdBy,
  reason: rule.reason,
  ended_at: rule.endedAt,
  ended_by: rule.endedBy,
  end_reason: rule.endReason,
});

/** Staff's use cases for price rules, over HTTP and on the command line. */
@Injectable()
export class StaffPricesService {
  constructor(
    private readonly rules: PriceRulesService,
    private readonly history: MarkupHistoryService,
    private readonly previews: PricePreviewService,
    private readonly users: UsersService,
    private readonly auditLog: AuditLogService,
  ) {}

  /** A page of rules, newest first. The cursor is the id of the last rule of the previous page. */
  list(query: PriceRulesQuery): Promise<PriceRulesPage> {
    const filter = { history: query.history, userId: query.user_id ?? undefined };
    const find = async ({ cursor, limit }: PageRequest) =>
      this.naming(await this.rules.list({ ...filter, before: cursor ?? undefined, limit }));
    return readPage(query, find);
  }

  /** The markup of an offer at a time, or now, and the rule that sets it. @throws UserNotFound */
  async findMarkup(offer: PricedOffer, moment?: Date): Promise<HeldMarkupOut> {
    await this.assertUser(offer.userId);
    const country = offer.country?.toLowerCase() ?? null;
    const { percent, rule, at } = await this.history.heldAt({ ...offer, country }, moment);
    return { at, markup_percent: percent, rule: rule && (await this.namingOne(rule)) };
  }

  /**
   * Shows the effect of a change on the prices.
   *
   * @throws UserNotFound, NothingToPreview, InvalidPriceRule, PriceRuleNotFound, PriceRuleEnded
   */
  async preview(change: PriceChange): Promise<PricePreviewOut> {
    await this.assertUser(change.add?.userId ?? null);
    return this.previews.preview(change);
  }

  /** @throws PriceRuleNotFound */
  async get(id: number): Promise<PriceRuleOut> {
    return this.namingOne(await this.rules.get(id));
  }

  /**
   * @param replaces the rule that ends when this one begins
   * @throws OwnAccount, InvalidPriceRule, UserNotFound, PriceRuleNotFound, PriceRuleEnded, TooManyPriceRules,
   *   PriceChangeTooLate
   */
  async add(
    audit: AuditContext,
    rule: NewPriceRule,
    { replaces, reason }: { readonly replaces?: number | undefined; readonly reason: string },
  ): Promise<PriceRuleOut> {
    audit.assertConcernsAnother(rule.userId);
    const by = await this.nameOf(audit);
    // A rule changes only once: if this change succeeds, the rule is unchanged since this read.
    const before = replaces === undefined ? undefined : await this.get(replaces);
    audit.assertConcernsAnother(before?.user_id);
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const added = await this.rules.add(rule, { by, reason }, replaces, manager);
      const after = await this.namingOne(added);
      await record({ target: { type: 'price-rule', id: added.id }, reason, before, after });
      await this.rules.assertAhead(added.validFrom, manager);
      return after;
    });
  }

  /**
   * @param at when the rule ends; if omitted, as soon as every replica can know of it
   * @throws OwnAccount, InvalidPriceRule, PriceRuleNotFound, PriceRuleEnded, PriceChangeTooLate
   */
  async end(
    audit: AuditContext,
    id: number,
    { at, reason }: { readonly at?: Date | undefined; readonly reason: string },
  ): Promise<PriceRuleOut> {
    const by = await this.nameOf(audit);
    const before = await this.get(id);
    audit.assertConcernsAnother(before.user_id);
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const ended = await this.rules.end(id, { by, reason }, at, manager);
      const after = await this.namingOne(ended);
      await record({ reason, before, after });
      await this.rules.assertAhead(ended.validTo, manager);
      return after;
    });
  }

  /** The rules with the names of their users. */
  private async naming(rules: readonly PriceRule[]): Promise<PriceRuleOut[]> {
    const users = await this.users.findAll(rules.flatMap(({ userId }) => userId ?? []));
    const byId = new Map(users.map((user) => [user.id, user]));
    return rules.map((rule) => toPriceRuleOut(rule, byId.get(rule.userId ?? 0)));
  }

  private async namingOne(rule: PriceRule): Promise<PriceRuleOut> {
    const user = rule.userId === null ? null : await this.users.find(rule.userId);
    return toPriceRuleOut(rule, user ?? undefined);
  }

  private async assertUser(id: number | null): Promise<void> {
    if (id !== null && !(await this.users.find(id))) throw new UserNotFound();
  }

  /** The author of a change as stored in the rule: `boris (42)`, or the name from a command. */
  private async nameOf({ caller, by }: AuditContext): Promise<string> {
    if (by !== undefined) return by;
    if (!caller) throw new Error('a change of prices on the command line lacks a name');
    const user = await this.users.find(caller.userId);
    return `${user?.username ?? user?.webUsername ?? 'user'} (${caller.userId})`;
  }
}
