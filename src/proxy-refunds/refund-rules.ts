import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Queryable, queryRow } from '../database';
import type { RefundRuleOut, StaffRefundRuleOut } from './dto/refund-rule.dto';
import type { ProxyRefundRefusal } from './dto/refund.dto';

export type RefundRule = Readonly<StaffRefundRuleOut>;
export type NewRefundRule = Omit<RefundRule, 'quota_sum'> & { readonly quota_sum: string | null };

const SHOWN = 'enabled, hours, failed_checks, minutes_between, quota, quota_percent, quota_sum, versions';
const ALL = `${SHOWN}, daily_sum`;

@Injectable()
export class RefundRules {
  constructor(private readonly dataSource: DataSource) {}

  shown(): Promise<RefundRuleOut> {
    return queryRow(this.dataSource, `SELECT ${SHOWN} FROM refund_rule`);
  }

  get(): Promise<RefundRule> {
    return queryRow(this.dataSource, `SELECT ${ALL} FROM refund_rule`);
  }

  lock(queryable: Queryable): Promise<RefundRule> {
    return queryRow(queryable, `SELECT ${ALL} FROM refund_rule FOR UPDATE`);
  }

  /** `quota_sum: null` keeps the stored value. */
  set(rule: NewRefundRule, queryable: Queryable): Promise<RefundRule> {
    return queryRow(
      queryable,
      `UPDATE refund_rule
          SET enabled = $1, hours = $2, failed_checks = $3, minutes_between = $4, quota = $5,
              quota_percent = $6, versions = $7, daily_sum = $8, quota_sum = coalesce($9, quota_sum)
        RETURNING ${ALL}`,
      [
        rule.enabled,
        rule.hours,
        rule.failed_checks,
        rule.minutes_between,
        rule.quota,
        rule.quota_percent,
        rule.versions,
        rule.daily_sum,
        rule.quota_sum,
      ],
    );
  }
}

/** Explains to the customer which condition is not met, and how to meet it. */
export function fulfilmentOf(refusal: ProxyRefundRefusal, rule: RefundRuleOut): string {
  switch (refusal) {
    case 'proxy-works':
      return 'The proxy worked when the service checked it. Request the refund again when the proxy fails';
    case 'not-the-proxy':
      return 'The proxy responds. Only proxies that refuse or close connections, or time out, are refunded';
    case 'refund-period-over':
      return `A refund must be requested within ${rule.hours} hours of delivery`;
    case 'refund-quota-used':
      return (
        `Within 30 days, at most ${rule.quota} proxies are refunded, or ${rule.quota_percent} % of those ` +
        `bought${Number(rule.quota_sum) > 0 ? `, and at most ${rule.quota_sum} roubles` : ''}`
      );
    case 'prolonged':
      return 'The proxy was prolonged after the request. A new request would cover all orders for the proxy';
    case 'not-refundable':
      return (
        'While the rule is enabled, only running proxies of its versions that have at least a whole ' +
        'day left are refunded'
      );
  }
}
