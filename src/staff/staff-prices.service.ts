import { Injectable } from '@nestjs/common';
import { type NewPriceRule, type PriceRule, PriceRulesService } from '../pricing';
import { UsersService } from '../users';
import type { Act } from './act';
import { StaffLog } from './staff-log';

/** A rule as staff see it. */
export interface PriceRuleRow {
  readonly id: number;
  readonly user_id: number | null;
  readonly country: string | null;
  readonly version: string | null;
  readonly min_period: number | null;
  readonly max_period: number | null;
  readonly markup_percent: string;
  readonly valid_from: Date;
  readonly valid_to: Date | null;
  readonly created_at: Date;
  readonly created_by: string;
  readonly reason: string;
  readonly ended_at: Date | null;
  readonly ended_by: string | null;
  readonly end_reason: string | null;
}

export const toPriceRuleRow = (rule: PriceRule): PriceRuleRow => ({
  id: rule.id,
  user_id: rule.userId,
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

/** Changes of the price rules by staff, over HTTP and on the command line. */
@Injectable()
export class StaffPricesService {
  constructor(
    private readonly rules: PriceRulesService,
    private readonly users: UsersService,
    private readonly log: StaffLog,
  ) {}

  /**
   * @param by on the command line, where it is not known
   * @throws InvalidPriceRule, UserNotFound, PriceRuleNotFound, PriceRuleEnded, TooManyPriceRules, PriceChangeTooLate
   */
  async add(
    act: Act,
    rule: NewPriceRule,
    { reason, replaces, by }: { reason: string; replaces?: number | undefined; by?: string },
  ): Promise<PriceRuleRow> {
    const signature = { by: by ?? (await this.nameOf(act)), reason };
    // A rule changes once: when this change succeeds, it was as it is read here.
    const before = replaces === undefined ? undefined : toPriceRuleRow(await this.rules.get(replaces));
    return this.log.change(act, async (manager, record) => {
      const added = await this.rules.add(rule, signature, replaces, manager);
      const after = toPriceRuleRow(added);
      await record({
        target: { type: 'price-rule', id: added.id },
        reason,
        ...(before && { before }),
        after,
      });
      await this.rules.assertAhead(added.validFrom, manager);
      return after;
    });
  }

  /**
   * @param by on the command line, where it is not known
   * @throws InvalidPriceRule, PriceRuleNotFound, PriceRuleEnded, PriceChangeTooLate
   */
  async end(
    act: Act,
    id: number,
    { reason, at, by }: { reason: string; at?: Date | undefined; by?: string },
  ): Promise<PriceRuleRow> {
    const signature = { by: by ?? (await this.nameOf(act)), reason };
    const before = toPriceRuleRow(await this.rules.get(id));
    return this.log.change(act, async (manager, record) => {
      const ended = await this.rules.end(id, signature, at, manager);
      const after = toPriceRuleRow(ended);
      await record({ reason, before, after });
      await this.rules.assertAhead(ended.validTo, manager);
      return after;
    });
  }

  /** As it stands in the rules: `boris (42)`. */
  private async nameOf({ caller }: Act): Promise<string> {
    if (!caller) throw new Error('a change of prices on the command line names nobody');
    const user = await this.users.find(caller.userId);
    return `${user?.username ?? user?.webUsername ?? 'user'} (${caller.userId})`;
  }
}
