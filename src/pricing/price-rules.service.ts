import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { databaseTime, queryRow, queryRows, refusedBy, selectList } from '../database';
import { UserNotFound } from '../users';
import type { MarkupRule } from './markup-resolver';
import { type NewPriceRule, readNewRule, type PriceChangeAuthor } from './price-change';
import type { PriceRule } from './price-rule';
import {
  InvalidPriceRule,
  PriceChangeTooLate,
  PriceRuleEnded,
  PriceRuleNotFound,
  TooManyPriceRules,
} from './pricing.errors';

/** Maximum number of open rules. Concurrent additions may exceed it. */
const MAX_PRICE_RULES = 10_000;
/** How long replicas have to pick up a change before it takes effect. */
export const LEAD_SECONDS = 1;
/** Time allowed for committing a change that takes effect as soon as possible. */
export const COMMIT_SECONDS = 0.5;
/** Replicas no longer read rules that ended longer ago than this. */
const REPLICA_LAG_SECONDS = 60;

const MARKUP_FIELDS = 'id userId country version minPeriod maxPeriod markupPercent validFrom validTo';
const FIELDS = `${MARKUP_FIELDS} createdAt createdBy reason endedAt endedBy endReason`;
const MARKUP_COLUMNS = selectList(MARKUP_FIELDS.split(' '));
const COLUMNS = selectList(FIELDS.split(' '));

/** A rule canceled before its start has `valid_to` equal to `valid_from`, so it never applies. */
const openAt = (moment: string): string =>
  `(valid_to IS NULL OR (valid_to > ${moment} AND valid_to > valid_from))`;
export const OPEN_PRICE_RULES = openAt('clock_timestamp()');

/** The lock serializes changes, and the time is read under the lock. Yields no row if `$1` is too soon. */
const EFFECT = `locked AS MATERIALIZED (SELECT FROM price_rules_revision FOR UPDATE),
  soonest AS MATERIALIZED (
    SELECT date_trunc('milliseconds', clock_timestamp()) + make_interval(secs => ${LEAD_SECONDS}) AS soonest
      FROM locked),
  effect AS MATERIALIZED (
    SELECT moment
      FROM soonest, coalesce($1, soonest + make_interval(secs => ${COMMIT_SECONDS})) AS moment
     WHERE moment >= soonest)`;

/** Changes take effect only in the future. */
@Injectable()
export class PriceRulesService {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * @param manager manager of a transaction whose last statement is `assertAhead`
   * @throws InvalidPriceRule, UserNotFound, PriceRuleNotFound, PriceRuleEnded, TooManyPriceRules
   */
  async add(
    rule: NewPriceRule,
    signature: PriceChangeAuthor,
    replaces?: number,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<PriceRule> {
    const { userId, country, version, minPeriod, maxPeriod, markupPercent } = readNewRule(rule);
    const [added] = await refusedBy({ price_rules_user_id_fkey: UserNotFound }, () =>
      queryRows<PriceRule>(
        manager,
        `WITH ${EFFECT},
         allowed AS MATERIALIZED (
           SELECT moment FROM effect
            WHERE coalesce($8 > moment, true)
              AND ($11::bigint IS NOT NULL
                   OR (SELECT count(*) FROM price_rules WHERE ${OPEN_PRICE_RULES}) < ${MAX_PRICE_RULES})
         ),
         replaced AS (
           UPDATE price_rules
              SET valid_to = greatest(valid_from, moment),
                  ended_at = clock_timestamp(), ended_by = $9, end_reason = $10
             FROM allowed
            WHERE id = $11 AND ended_at IS NULL AND (valid_to IS NULL OR valid_to > moment)
           RETURNING id
         )
         INSERT INTO price_rules (user_id, country, version, min_period, max_period, markup_percent,
                                  valid_from, valid_to, created_by, reason)
         SELECT $2, $3, $4, $5, $6, $7, moment, $8::timestamptz, $9, $10
           FROM allowed WHERE $11 IS NULL OR EXISTS (SELECT FROM replaced)
         RETURNING ${COLUMNS}`,
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
      ),
    );
    if (added) return added;
    throw await this.explainRefusal({ end: replaces, at: rule.validFrom }, manager);
  }

  /**
   * Ends a rule, or cancels it if it has not begun.
   * @param manager manager of a transaction whose last statement is `assertAhead`
   * @throws InvalidPriceRule, PriceRuleNotFound, PriceRuleEnded
   */
  async end(
    id: number,
    signature: PriceChangeAuthor,
    at?: Date,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<PriceRule> {
    const [ended] = await queryRows<PriceRule>(
      manager,
      `WITH ${EFFECT}
       UPDATE price_rules
          SET valid_to = greatest(valid_from, moment),
              ended_at = clock_timestamp(), ended_by = $3, end_reason = $4
         FROM effect
        WHERE id = $2 AND ended_at IS NULL AND (valid_to IS NULL OR valid_to > moment)
       RETURNING ${COLUMNS}`,
      [at ?? null, id, signature.by, signature.reason],
    );
    if (ended) return ended;
    throw await this.explainRefusal({ end: id, at }, manager);
  }

  /** Must be a change's last statement before the commit. @throws PriceChangeTooLate */
  async assertAhead(effect: Date | null, manager: EntityManager): Promise<void> {
    const now = await databaseTime(manager);
    if (effect && effect.getTime() - now.getTime() < LEAD_SECONDS * 1000) throw new PriceChangeTooLate();
  }

  /** @throws PriceRuleNotFound */
  async get(id: number, manager: EntityManager = this.dataSource.manager): Promise<PriceRule> {
    const [rule] = await queryRows<PriceRule>(manager, `SELECT ${COLUMNS} FROM price_rules WHERE id = $1`, [
      id,
    ]);
    if (!rule) throw new PriceRuleNotFound();
    return rule;
  }

  readRevision(): Promise<{ revision: number; now: Date }> {
    return queryRow(this.dataSource, 'SELECT revision, clock_timestamp() AS now FROM price_rules_revision');
  }

  listAt(moment: Date): Promise<PriceRule[]> {
    return queryRows(
      this.dataSource,
      `SELECT ${COLUMNS} FROM price_rules WHERE valid_from <= $1 AND (valid_to IS NULL OR valid_to > $1)`,
      [moment],
    );
  }

  listOpen(): Promise<MarkupRule[]> {
    return queryRows(
      this.dataSource,
      `SELECT ${MARKUP_COLUMNS} FROM price_rules
        WHERE ${openAt(`clock_timestamp() - interval '${REPLICA_LAG_SECONDS} seconds'`)}`,
    );
  }

  private async explainRefusal(
    { end, at }: { end: number | undefined; at: Date | undefined },
    manager: EntityManager,
  ): Promise<Error> {
    if (end === undefined) {
      const { open } = await queryRow<{ open: number }>(
        manager,
        `SELECT count(*) AS open FROM price_rules WHERE ${OPEN_PRICE_RULES}`,
      );
      return open >= MAX_PRICE_RULES ? new TooManyPriceRules(MAX_PRICE_RULES) : invalidTimes();
    }
    const { endedAt, validTo } = await this.get(end, manager);
    const start = at ?? (await databaseTime(manager));
    return endedAt || (validTo && validTo <= start) ? new PriceRuleEnded() : invalidTimes();
  }
}

export const invalidTimes = () =>
  new InvalidPriceRule(`A change must begin at least ${LEAD_SECONDS} s from now, and end after it begins`);
