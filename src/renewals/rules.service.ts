import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Caller } from '../auth';
import { assertPeriodSold, toIpVersion } from '../catalog';
import { Clock, Money } from '../common';
import { changeOfUser, type Queryable, queryRow, queryRows } from '../database';
import { type Page, type PageRequest, readPage } from '../http';
import { normalLabel, normalTag, ProxiesService } from '../proxies';
import { monthOf } from './renewal-decision';
import {
  LimitedTokenCannotRenew,
  RenewalRuleNotFound,
  TargetMismatch,
  TooManyRenewalRules,
} from './renewals.errors';
import type {
  BudgetOut,
  NewRenewalRuleRequest,
  RenewalFilterBody,
  RenewalRuleOut,
  RuleTarget,
} from './rules.dto';

type RuleFilter = Pick<RenewalFilterBody, 'country' | 'label' | 'tag'>;

interface NewRule extends RuleFilter {
  readonly proxyId: number | null;
  readonly period: number | null;
  readonly maxPrice: Money | null;
  readonly hoursBefore: number;
}

/** Limits how many rules have to be compared with each proxy. */
const MAX_FILTERS = 100;

const EXCLUSION = { country: null, label: null, tag: null, period: null, maxPrice: null, hoursBefore: 24 };

const SHOWN = `
  rule.id, rule.proxy_id::text AS proxy_id, rule.period, rule.max_price, rule.hours_before, rule.created_at,
  rule.period IS NOT NULL AS renews,
  CASE WHEN rule.proxy_id IS NOT NULL THEN 'proxy'
       WHEN num_nonnulls(rule.country, rule.label, rule.tag) > 0 THEN 'filter' ELSE 'all' END AS target,
  nullif(jsonb_strip_nulls(jsonb_build_object('country', rule.country, 'label', rule.label, 'tag', rule.tag)),
         '{}') AS filter`;

/** A token with a daily limit may only make changes that reduce the number or the price of renewals. */
@Injectable()
export class RulesService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly proxies: ProxiesService,
    private readonly clock: Clock,
  ) {}

  /**
   * @throws TargetMismatch, ProxyNotFound, PeriodTooShort, UnsupportedPeriod, LimitedTokenCannotRenew,
   * TooManyRenewalRules
   */
  async enable(caller: Caller, request: NewRenewalRuleRequest): Promise<RenewalRuleOut> {
    const { proxy_id: id, period, max_price: maxPrice, hours_before: hoursBefore } = request;
    const filter = toFilter(request.filter);
    if (targetOf(id, request.filter) !== request.target) throw new TargetMismatch();
    if (request.target === 'filter' && isEmpty(filter)) throw new TargetMismatch();
    assertUnlimited(caller);
    const proxy = id === null ? null : await this.proxies.get(caller.userId, id);
    if (proxy) assertPeriodSold(toIpVersion(proxy.version), period, 'renewal');
    const proxyId = proxy?.id ?? null;
    return this.replace(caller.userId, { proxyId, ...filter, period, maxPrice, hoursBefore });
  }

  /** Excludes a proxy from all rules, including its own. @throws ProxyNotFound */
  async exclude({ userId }: Caller, proxyId: string): Promise<RenewalRuleOut> {
    const { id } = await this.proxies.get(userId, proxyId);
    return this.replace(userId, { proxyId: id, ...EXCLUSION });
  }

  list(userId: number, page: PageRequest): Promise<Page<RenewalRuleOut>> {
    return readPage(page, ({ cursor, limit }) =>
      queryRows<RenewalRuleOut>(
        this.dataSource,
        `SELECT ${SHOWN} FROM renewal_rules AS rule
            WHERE rule.user_id = $1 AND rule.disabled_at IS NULL AND rule.id > $2
            ORDER BY rule.id LIMIT $3`,
        [userId, cursor ?? 0, limit],
      ),
    );
  }

  /** @throws RenewalRuleNotFound, LimitedTokenCannotRenew */
  async disable(caller: Caller, id: number): Promise<void> {
    const { userId } = caller;
    await changeOfUser(this.dataSource, userId, async (manager) => {
      const [rule] = await queryRows<{ hasWider: boolean }>(
        manager,
        // Find out whether another rule may apply once this rule is disabled. A proxy's own rule may give way
        // to any wider rule. A filter rule may give way to an older filter rule or to the rule for all
        // proxies.
        `SELECT rule.proxy_id IS NOT NULL AND EXISTS (SELECT FROM renewal_rules AS wider WHERE ${IS_WIDE_ONE})
                OR num_nonnulls(rule.country, rule.label, rule.tag) > 0 AND EXISTS (
                     SELECT FROM renewal_rules AS wider
                      WHERE ${IS_WIDE_ONE}
                        AND (wider.id < rule.id OR num_nonnulls(wider.country, wider.label, wider.tag) = 0))
                AS "hasWider"
           FROM renewal_rules AS rule
          WHERE rule.id = $1 AND rule.user_id = $2 AND rule.disabled_at IS NULL`,
        [id, userId],
      );
      if (!rule) throw new RenewalRuleNotFound();
      if (rule.hasWider) assertUnlimited(caller);
      await queryRows(manager, 'UPDATE renewal_rules SET disabled_at = $3 WHERE id = $1 AND user_id = $2', [
        id,
        userId,
        this.clock.now(),
      ]);
    });
  }

  /** Disables all rules except exclusions. @returns the number of disabled rules */
  async disableAll(userId: number): Promise<number> {
    return changeOfUser(this.dataSource, userId, async (manager) => {
      const rules = await queryRows(
        manager,
        `UPDATE renewal_rules SET disabled_at = $2
          WHERE user_id = $1 AND disabled_at IS NULL AND period IS NOT NULL RETURNING id`,
        [userId, this.clock.now()],
      );
      return rules.length;
    });
  }

  async budget(userId: number): Promise<BudgetOut> {
    return readBudget(this.dataSource, userId, this.clock.now());
  }

  /** @throws LimitedTokenCannotRenew */
  async setBudget(caller: Caller, monthly: Money | null): Promise<BudgetOut> {
    const { userId } = caller;
    return changeOfUser(this.dataSource, userId, async (manager) => {
      const now = this.clock.now();
      const { monthly: text } = await readBudget(manager, userId, now);
      const before = text === null ? null : Money.parse(text);
      if (before && (monthly === null || monthly.kopecks > before.kopecks)) assertUnlimited(caller);
      await queryRows(
        manager,
        `INSERT INTO renewal_settings (user_id, monthly_budget) VALUES ($1, $2)
         ON CONFLICT (user_id) DO UPDATE SET monthly_budget = excluded.monthly_budget`,
        [userId, monthly?.toString() ?? null],
      );
      return readBudget(manager, userId, now);
    });
  }

  private replace(userId: number, rule: NewRule): Promise<RenewalRuleOut> {
    return changeOfUser(this.dataSource, userId, async (manager) => {
      const { proxyId, country, label, tag, period, maxPrice, hoursBefore } = rule;
      await queryRows(
        manager,
        `UPDATE renewal_rules SET disabled_at = $6
          WHERE user_id = $1 AND disabled_at IS NULL
            AND proxy_id IS NOT DISTINCT FROM $2 AND country IS NOT DISTINCT FROM $3
            AND label IS NOT DISTINCT FROM $4 AND tag IS NOT DISTINCT FROM $5`,
        [userId, proxyId, country, label, tag, this.clock.now()],
      );
      if (!isEmpty(rule)) await assertFewFilters(manager, userId);
      return queryRow<RenewalRuleOut>(
        manager,
        `WITH rule AS (
           INSERT INTO renewal_rules
             (user_id, proxy_id, country, label, tag, period, max_price, hours_before, created_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING *
         )
         SELECT ${SHOWN} FROM rule`,
        [
          userId,
          proxyId,
          country,
          label,
          tag,
          period,
          maxPrice?.toString() ?? null,
          hoursBefore,
          this.clock.now(),
        ],
      );
    });
  }
}

const IS_WIDE_ONE = 'wider.user_id = rule.user_id AND wider.disabled_at IS NULL AND wider.proxy_id IS NULL';

async function assertFewFilters(manager: EntityManager, userId: number): Promise<void> {
  const { count } = await queryRow<{ count: number }>(
    manager,
    `SELECT count(*) AS count FROM renewal_rules
      WHERE user_id = $1 AND disabled_at IS NULL AND proxy_id IS NULL
        AND num_nonnulls(country, label, tag) > 0`,
    [userId],
  );
  if (count >= MAX_FILTERS) throw new TooManyRenewalRules(MAX_FILTERS);
}

const readBudget = (queryable: Queryable, userId: number, now: Date): Promise<BudgetOut> =>
  queryRow(
    queryable,
    `SELECT monthly, to_char($2::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM') AS month, spent,
            CASE WHEN monthly IS NOT NULL THEN greatest(monthly - spent, 0.00) END AS left, paused
       FROM (SELECT (SELECT monthly_budget FROM renewal_settings WHERE user_id = $1) AS monthly,
                    renewals_spent($1, $2) AS spent,
                    'paused' = ANY (renewal_obstacles_of_user($1)) AS paused) AS budget`,
    [userId, monthOf(now)],
  );

function assertUnlimited({ dailyLimit }: Caller): void {
  if (dailyLimit !== null) throw new LimitedTokenCannotRenew();
}

/** @returns null if both fields are given, although a rule has only one target */
function targetOf(proxyId: string | null, filter: RenewalFilterBody | null): RuleTarget | null {
  if (proxyId !== null) return filter === null ? 'proxy' : null;
  return filter === null ? 'all' : 'filter';
}

const isEmpty = ({ country, label, tag }: RuleFilter): boolean =>
  country === null && label === null && tag === null;

function toFilter(filter: RenewalFilterBody | null): RuleFilter {
  const { country = null, label = null, tag = null } = filter ?? {};
  return {
    country: country && country.toLowerCase(),
    label: label && normalLabel(label),
    tag: tag && normalTag(tag),
  };
}
