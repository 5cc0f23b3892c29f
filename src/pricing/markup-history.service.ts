import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../config';
import { databaseTime, queryRows } from '../database';
import { type Markup, type MarkupRule, type PricedOffer, MarkupResolver } from './markup-resolver';
import { noPriceChange, type PriceChange, readNewRule, toStoredPercent } from './price-change';
import { COMMIT_SECONDS, invalidTimes, LEAD_SECONDS, PriceRulesService } from './price-rules.service';
import { PriceRuleEnded } from './pricing.errors';

interface PriceComparison {
  readonly at: Date;
  /** Rules that apply at `at` without the change. */
  readonly rules: readonly MarkupRule[];
  /** Rules that the change adds or ends. */
  readonly touched: readonly MarkupRule[];
  readonly before: (offer: PricedOffer) => Markup;
  /** Markup with the change. An added rule has the id NEW_RULE_ID. */
  readonly after: (offer: PricedOffer) => Markup;
}

/** Id of a rule that has not been added yet. The highest id, because the rule counts as the newest. */
export const NEW_RULE_ID = Number.MAX_SAFE_INTEGER;

@Injectable()
export class MarkupHistoryService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly rules: PriceRulesService,
    private readonly config: AppConfig,
  ) {}

  /** @param at defaults to now; for a future moment, only the rules known today are considered */
  async heldAt(
    offer: PricedOffer,
    at?: Date,
  ): Promise<Markup & { readonly at: Date; readonly dearerRuleId: number | null }> {
    const moment = at ?? (await databaseTime(this.dataSource));
    const resolver = new MarkupResolver(await this.rules.listAt(moment), await this.defaultAt(moment));
    const atMs = moment.getTime();
    return {
      ...resolver.choose(offer, atMs),
      dearerRuleId: resolver.findDearerRuleId(offer, atMs),
      at: moment,
    };
  }

  /** @throws InvalidPriceRule, PriceRuleNotFound, PriceRuleEnded */
  async compare({ add, end }: PriceChange): Promise<PriceComparison> {
    if (!add && end === undefined) throw noPriceChange();
    const scope = add && readNewRule(add);
    const ended = end === undefined ? null : await this.rules.get(end);
    const soonestMs = (await databaseTime(this.dataSource)).getTime() + LEAD_SECONDS * 1000;
    const start = add?.validFrom ?? new Date(soonestMs + COMMIT_SECONDS * 1000);
    if (start.getTime() < soonestMs || (add?.validTo && add.validTo <= start)) throw invalidTimes();
    if (ended && (ended.endedAt || (ended.validTo && ended.validTo <= start))) throw new PriceRuleEnded();
    const at = !add && ended && ended.validFrom > start ? ended.validFrom : start;
    const added = scope ? [{ ...scope, id: NEW_RULE_ID, validFrom: at, validTo: null }] : [];
    const rules = await this.rules.listAt(at);
    const defaultPercent = await this.defaultAt(at);
    const before = new MarkupResolver(rules, defaultPercent);
    const after = new MarkupResolver([...rules.filter(({ id }) => id !== end), ...added], defaultPercent);
    return {
      at,
      rules,
      touched: [...added, ...(ended ? [ended] : [])],
      before: (offer) => before.choose(offer, at.getTime()),
      after: (offer) => after.choose(offer, at.getTime()),
    };
  }

  /** Records MARKUP_PERCENT if it has changed, because an environment variable has no history. */
  async recordDefault(): Promise<void> {
    await queryRows(
      this.dataSource,
      `INSERT INTO default_markups (markup_percent)
       SELECT $1::numeric
        WHERE (SELECT markup_percent FROM default_markups ORDER BY id DESC LIMIT 1)
              IS DISTINCT FROM $1::numeric`,
      [this.config.pricing.markupPercent],
    );
  }

  /** Returns the last default before a moment. If there is none, the first after it, or this process's. */
  private async defaultAt(moment: Date): Promise<string> {
    const [recorded] = await queryRows<{ percent: string }>(
      this.dataSource,
      `SELECT markup_percent AS percent FROM default_markups
        ORDER BY recorded_at <= $1 DESC, abs(extract(epoch FROM recorded_at - $1)), id DESC LIMIT 1`,
      [moment],
    );
    return recorded?.percent ?? toStoredPercent(this.config.pricing.markupPercent);
  }
}
