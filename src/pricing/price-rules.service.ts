import { Injectable } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { DataSource, type EntityManager, LessThan, Repository } from 'typeorm';
import type { IpVersion } from '../common';
import { AppConfig } from '../config';
import { databaseTime, queryRows, violatedConstraint } from '../database';
import { UserNotFound } from '../users';
import { PriceRule } from './price-rule.entity';
import {
  InvalidPriceRule,
  PriceChangeTooLate,
  PriceRuleEnded,
  PriceRuleNotFound,
  TooManyPriceRules,
} from './pricing.errors';
import {
  LONGEST_PERIOD_DAYS,
  type Markup,
  type MarkupRule,
  type PricedOffer,
  RuleBook,
  type RuleScope,
  SHORTEST_PERIOD_DAYS,
} from './rule-book';

/** What is left out of the scope stands for all. */
export interface NewPriceRule {
  readonly userId?: number | undefined;
  readonly country?: string | undefined;
  readonly version?: IpVersion | undefined;
  /** Days, both included. */
  readonly minPeriod?: number | undefined;
  readonly maxPeriod?: number | undefined;
  /** A decimal string from 0 to 9999, four decimals at most. */
  readonly markupPercent: string;
  /** Left out: as soon as every replica can know of it, in a second and a half. */
  readonly validFrom?: Date | undefined;
  /** Left out: until it is ended. */
  readonly validTo?: Date | undefined;
}

export interface Signature {
  readonly by: string;
  readonly reason: string;
}

/** A rule that is added, one that is ended, or both: then the one replaces the other. */
export interface PriceChange {
  readonly add?: NewPriceRule | undefined;
  /** The id of a rule. */
  readonly end?: number | undefined;
}

export interface ListedRules {
  /** With those that no longer hold. */
  readonly history?: boolean | undefined;
  readonly userId?: number | undefined;
  /** Older ones only: the last id of the page before. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** The markup that held, with the rule that said so. */
export interface HeldMarkup {
  readonly percent: string;
  /** Null: the default. */
  readonly rule: PriceRule | null;
  readonly at: Date;
}

/** What a change does to the markups. */
export interface PriceComparison {
  readonly at: Date;
  /** All that hold at that moment without the change. */
  readonly rules: readonly MarkupRule[];
  /** What the change adds or ends. */
  readonly touched: readonly MarkupRule[];
  readonly before: (offer: PricedOffer) => Markup;
  /** With `NEW_RULE_ID` for a rule that is added. */
  readonly after: (offer: PricedOffer) => Markup;
}

/** Of a rule that is not added yet: the newest of all. */
export const NEW_RULE_ID = Number.MAX_SAFE_INTEGER;

/** So many hold or will at most, but for what is added at the same instant. */
export const MAX_PRICE_RULES = 10_000;
/** From when a change is written until it takes effect, at least: all replicas know it by then. */
const LEAD_SECONDS = 1;
/** How long the rest of its transaction may take, when the change is to take effect as soon as possible. */
const COMMIT_SECONDS = 0.5;
/** Replicas are not as late as that: what ended before is of no use to them. */
const KEPT_SECONDS = 60;

const RULE = `id, user_id AS "userId", country, version, min_period AS "minPeriod", max_period AS "maxPeriod",
  markup_percent AS "markupPercent", valid_from AS "validFrom", valid_to AS "validTo", created_at AS "createdAt",
  created_by AS "createdBy", reason, ended_at AS "endedAt", ended_by AS "endedBy", end_reason AS "endReason"`;

/** What holds or will. One that was given up before it began has its end at its beginning. */
const openAfter = (moment: string): string =>
  `(valid_to IS NULL OR (valid_to > ${moment} AND valid_to > valid_from))`;
const OPEN = openAfter('clock_timestamp()');

/**
 * The moment of a change, `$1` or as soon as possible, to the millisecond, which is what JavaScript reads of it. Changes follow each other:
 * the time is read when this one's turn has come, after it has waited for the others.
 */
const EFFECT = `turn AS MATERIALIZED (SELECT FROM installation FOR UPDATE),
  soonest AS MATERIALIZED (
    SELECT date_trunc('milliseconds', clock_timestamp()) + make_interval(secs => ${LEAD_SECONDS}) AS soonest FROM turn),
  effect AS MATERIALIZED (
    SELECT moment FROM soonest, coalesce($1, soonest + make_interval(secs => ${COMMIT_SECONDS})) AS moment WHERE moment >= soonest)`;

/** The rules in the database. A change takes effect in the future only, so what held at a moment that has passed never changes. */
@Injectable()
export class PriceRulesService {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @InjectRepository(PriceRule) private readonly rules: Repository<PriceRule>,
    private readonly config: AppConfig,
  ) {}

  /**
   * Adds a rule; at the moment from which it is valid it takes the place of another one, when one is named.
   *
   * @param manager of a transaction whose last statement is `assertAhead`
   * @throws InvalidPriceRule, UserNotFound, PriceRuleNotFound, PriceRuleEnded, TooManyPriceRules
   */
  async add(
    rule: NewPriceRule,
    signature: Signature,
    replaces?: number,
    manager: EntityManager = this.rules.manager,
  ): Promise<PriceRule> {
    const { userId, country, version, minPeriod, maxPeriod, markupPercent } = toChecked(rule);
    checkSignature(signature);
    try {
      const [added] = await queryRows<PriceRule>(
        manager,
        `WITH ${EFFECT},
         allowed AS MATERIALIZED (
           SELECT moment FROM effect
            WHERE coalesce($8 > moment, true)
              AND ($11::bigint IS NOT NULL
                   OR (SELECT count(*) FROM price_rules WHERE ${OPEN}) < ${MAX_PRICE_RULES})
         ),
         replaced AS (
           UPDATE price_rules
              SET valid_to = greatest(valid_from, moment), ended_at = clock_timestamp(), ended_by = $9, end_reason = $10
             FROM allowed
            WHERE id = $11 AND ended_at IS NULL AND (valid_to IS NULL OR valid_to > moment)
           RETURNING id
         )
         INSERT INTO price_rules (user_id, country, version, min_period, max_period, markup_percent, valid_from, valid_to,
                                  created_by, reason)
         SELECT $2, $3, $4, $5, $6, $7, moment, $8::timestamptz, $9, $10
           FROM allowed WHERE $11 IS NULL OR EXISTS (SELECT FROM replaced)
         RETURNING ${RULE}`,
        [
          rule.validFrom ?? null,
          userId,
          country,
          version,
          minPeriod,
          maxPeriod,
          markupPercent,
          rule.validTo ?? null,
          signature.by,
          signature.reason,
          replaces ?? null,
        ],
      );
      if (added) return added;
    } catch (error) {
      if (violatedConstraint(error) === 'price_rules_user_id_fkey') throw new UserNotFound();
      throw error;
    }
    throw await this.refusal({ end: replaces, at: rule.validFrom }, manager);
  }

  /**
   * Ends a rule; one that has not begun never will.
   *
   * @param at left out: as soon as every replica can know of it
   * @param manager of a transaction whose last statement is `assertAhead`
   * @throws InvalidPriceRule, PriceRuleNotFound, PriceRuleEnded
   */
  async end(
    id: number,
    signature: Signature,
    at?: Date,
    manager: EntityManager = this.rules.manager,
  ): Promise<PriceRule> {
    checkSignature(signature);
    const [ended] = await queryRows<PriceRule>(
      manager,
      `WITH ${EFFECT}
       UPDATE price_rules
          SET valid_to = greatest(valid_from, moment), ended_at = clock_timestamp(), ended_by = $3, end_reason = $4
         FROM effect
        WHERE id = $2 AND ended_at IS NULL AND (valid_to IS NULL OR valid_to > moment)
       RETURNING ${RULE}`,
      [at ?? null, id, signature.by, signature.reason],
    );
    if (ended) return ended;
    throw await this.refusal({ end: id, at }, manager);
  }

  /**
   * To be asked right before the commit of a change: what comes between can take so long that replicas would not know of it in time.
   *
   * @param effect when the change takes effect
   * @throws PriceChangeTooLate
   */
  async assertAhead(effect: Date | null, manager: EntityManager): Promise<void> {
    const now = await databaseTime(manager);
    if (effect && effect.getTime() - now.getTime() < LEAD_SECONDS * 1000) throw new PriceChangeTooLate();
  }

  /** The last ones first. */
  list({ history = false, userId, before, limit }: ListedRules): Promise<PriceRule[]> {
    const query = this.rules
      .createQueryBuilder('rule')
      .where(before === undefined ? {} : { id: LessThan(before) })
      .orderBy('rule.id', 'DESC')
      .limit(limit);
    if (userId !== undefined) query.andWhere({ userId });
    if (!history) query.andWhere(OPEN);
    return query.getMany();
  }

  /** @throws PriceRuleNotFound */
  async get(id: number, manager: EntityManager = this.rules.manager): Promise<PriceRule> {
    const rule = await manager.findOneBy(PriceRule, { id });
    if (!rule) throw new PriceRuleNotFound();
    return rule;
  }

  /**
   * Which markup held for an offer at a moment, or holds now. For a moment in the future: as things stand.
   */
  async heldAt(offer: PricedOffer, at?: Date): Promise<HeldMarkup> {
    const moment = at ?? (await databaseTime(this.dataSource));
    const book = new RuleBook(await this.rulesAt(moment), await this.defaultAt(moment));
    const { percent, ruleId } = book.choose(offer, moment.getTime());
    return { percent, rule: ruleId === null ? null : await this.get(ruleId), at: moment };
  }

  /**
   * The markups before a change and after it, at the moment when it is first felt.
   *
   * @throws InvalidPriceRule, PriceRuleNotFound, PriceRuleEnded
   */
  async compare({ add, end }: PriceChange): Promise<PriceComparison> {
    if (!add && end === undefined) throw new InvalidPriceRule('Name a rule to add, one to end, or both');
    const scope = add && toChecked(add);
    const ended = end === undefined ? null : await this.get(end);
    const soonestMs = (await databaseTime(this.dataSource)).getTime() + LEAD_SECONDS * 1000;
    const start = add?.validFrom ?? new Date(soonestMs + COMMIT_SECONDS * 1000);
    if (start.getTime() < soonestMs || (add?.validTo && add.validTo <= start)) throw invalidTimes();
    if (ended && (ended.endedAt || (ended.validTo && ended.validTo <= start))) throw new PriceRuleEnded();
    const at = !add && ended && ended.validFrom > start ? ended.validFrom : start;
    const added = scope ? [{ ...scope, id: NEW_RULE_ID, validFrom: at, validTo: null }] : [];
    const rules = await this.rulesAt(at);
    const defaultPercent = await this.defaultAt(at);
    const before = new RuleBook(rules, defaultPercent);
    const after = new RuleBook([...rules.filter(({ id }) => id !== end), ...added], defaultPercent);
    return {
      at,
      rules,
      touched: [...added, ...(ended ? [ended] : [])],
      before: (offer) => before.choose(offer, at.getTime()),
      after: (offer) => after.choose(offer, at.getTime()),
    };
  }

  /** Of the rules; it changes with each change of them. And the database's time. */
  async readVersion(): Promise<{ version: number; now: Date }> {
    const [row] = await queryRows<{ version: number; now: Date }>(
      this.dataSource,
      'SELECT price_rules_version AS version, clock_timestamp() AS now FROM installation',
    );
    if (!row) throw new Error('the database has no installation');
    return row;
  }

  /** All that hold or will. */
  listOpen(): Promise<MarkupRule[]> {
    return queryRows(
      this.dataSource,
      `SELECT id, user_id AS "userId", country, version, min_period AS "minPeriod", max_period AS "maxPeriod",
              markup_percent AS "markupPercent", valid_from AS "validFrom", valid_to AS "validTo"
         FROM price_rules WHERE ${openAfter(`clock_timestamp() - interval '${KEPT_SECONDS} seconds'`)}`,
    );
  }

  /** To be said by a process that serves: the environment keeps no history of its own. */
  async noteDefault(): Promise<void> {
    await queryRows(
      this.dataSource,
      `INSERT INTO default_markups (markup_percent)
       SELECT $1::numeric
        WHERE (SELECT markup_percent FROM default_markups ORDER BY id DESC LIMIT 1) IS DISTINCT FROM $1::numeric`,
      [this.config.pricing.markupPercent],
    );
  }

  private rulesAt(moment: Date): Promise<MarkupRule[]> {
    return this.rules
      .createQueryBuilder()
      .where('valid_from <= :moment AND (valid_to IS NULL OR valid_to > :moment)', { moment })
      .getMany();
  }

  /** The last one noted by then; the first one for what was before that; the one of this process when there is none. */
  private async defaultAt(moment: Date): Promise<string> {
    const [noted] = await queryRows<{ percent: string }>(
      this.dataSource,
      `SELECT markup_percent AS percent FROM default_markups
        ORDER BY noted_at <= $1 DESC, abs(extract(epoch FROM noted_at - $1)), id DESC LIMIT 1`,
      [moment],
    );
    return noted?.percent ?? asStored(this.config.pricing.markupPercent);
  }

  /** Why a change was not written. */
  private async refusal(
    { end, at }: { end: number | undefined; at: Date | undefined },
    manager: EntityManager,
  ): Promise<Error> {
    if (end === undefined) {
      const open = await manager.createQueryBuilder(PriceRule, 'rule').where(OPEN).getCount();
      return open >= MAX_PRICE_RULES ? new TooManyPriceRules(MAX_PRICE_RULES) : invalidTimes();
    }
    const { endedAt, validTo } = await this.get(end, manager);
    const start = at ?? (await databaseTime(manager));
    return endedAt || (validTo && validTo <= start) ? new PriceRuleEnded() : invalidTimes();
  }
}

const invalidTimes = () =>
  new InvalidPriceRule(`A change begins ${LEAD_SECONDS} s from now or later, and ends after it has begun`);

/** As numeric(8,4) is written. */
function asStored(percent: string): string {
  const [whole, fraction = ''] = percent.split('.');
  return `${Number(whole)}.${fraction.padEnd(4, '0')}`;
}

/** @throws InvalidPriceRule */
function toChecked(rule: NewPriceRule): RuleScope & { readonly markupPercent: string } {
  const { userId = null, version = null, minPeriod = null, maxPeriod = null, markupPercent } = rule;
  const country = rule.country?.toLowerCase() ?? null;
  if (!/^\d{1,4}(\.\d{1,4})?$/.test(markupPercent)) {
    throw new InvalidPriceRule('The markup must be a decimal number from 0 to 9999, e.g. 12.5');
  }
  if (country !== null && !/^[a-z]{2,4}$/.test(country)) {
    throw new InvalidPriceRule('The country must be a code of 2 to 4 letters');
  }
  const [from, to] = [minPeriod ?? SHORTEST_PERIOD_DAYS, maxPeriod ?? LONGEST_PERIOD_DAYS];
  if (
    ![from, to].every(Number.isInteger) ||
    from < SHORTEST_PERIOD_DAYS ||
    to < from ||
    to > LONGEST_PERIOD_DAYS
  ) {
    throw new InvalidPriceRule(
      `The periods must be whole numbers from ${SHORTEST_PERIOD_DAYS} to ${LONGEST_PERIOD_DAYS}, the first not above the last`,
    );
  }
  return { userId, country, version, minPeriod, maxPeriod, markupPercent: asStored(markupPercent) };
}

/** @throws InvalidPriceRule */
function checkSignature({ by, reason }: Signature): void {
  if (by.trim() === '' || reason.trim() === '') {
    throw new InvalidPriceRule('A change of prices names who makes it and why');
  }
}
