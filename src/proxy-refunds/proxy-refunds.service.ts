import { Injectable } from '@nestjs/common';
import { AccessRecheck, type RequestWait } from '../auth';
import { Clock, Money } from '../common';
import { RequestsUnderWay } from '../http';
import { Maintenance } from '../orders';
import { ProxiesService, type Proxy, ProxyChecksService } from '../proxies';
import type { RefundRuleOut } from './dto/refund-rule.dto';
import { PROXY_REFUND_REFUSALS, type ProxyRefundOut, type ProxyRefundRefusal } from './dto/refund.dto';
import { type ProxyRefundFacts, ProxyRefundRecords, type ProxyRefundRow } from './proxy-refund-records';
import { RefundWaits } from './proxy-refunds.errors';
import { fulfilmentOf, RefundRules } from './refund-rules';

@Injectable()
export class ProxyRefundsService {
  constructor(
    private readonly proxies: ProxiesService,
    private readonly records: ProxyRefundRecords,
    private readonly rules: RefundRules,
    private readonly checks: ProxyChecksService,
    private readonly maintenance: Maintenance,
    private readonly underWay: RequestsUnderWay,
    private readonly access: AccessRecheck,
    private readonly clock: Clock,
  ) {}

  /** A retry returns the same refund. @throws ProxyNotFound, RefundWaits, ServiceUnavailable */
  async request(userId: number, proxyId: string): Promise<ProxyRefundOut> {
    const proxy = await this.proxies.get(userId, proxyId);
    const known = await this.show(proxy);
    if (known && known.code !== 'prolonged') return known;
    await this.maintenance.assertOpen();
    const facts = await this.records.facts(proxy);
    if (facts.waits) throw new RefundWaits();
    const look = await this.lookAt(proxy, facts);
    const code = look.code ?? (await this.records.begin(proxy));
    if (code === 'open') throw new RefundWaits();
    if (code !== null) {
      return Object.assign(look, toCode(code, await this.rules.shown()), { state: 'refused' as const });
    }
    return (await this.show(proxy)) ?? look;
  }

  /** @throws ProxyNotFound, TooManyUnderWay; after a wait, also any error of the repeated token check */
  async read(userId: number, proxyId: string, wait: RequestWait): Promise<ProxyRefundOut> {
    const proxy = await this.proxies.get(userId, proxyId);
    const row = await this.records.find(proxy.id);
    if (row?.state === 'checking' && wait.seconds > 0) {
      await this.underWay.run('wait', userId, () =>
        this.records.awaited.until(
          row.id,
          ({ state }) => state !== 'checking',
          wait.seconds * 1000,
          wait.hungUp,
        ),
      );
      if (!wait.hungUp.aborted) await this.access.assertStillAllowed(wait.request, 'proxies:read');
    }
    return (await this.show(proxy)) ?? this.lookAt(proxy, await this.records.facts(proxy));
  }

  private async show({ id }: Proxy): Promise<ProxyRefundOut | null> {
    const row = await this.records.find(id);
    return row?.stands ? toRefundOut(row, await this.rules.shown()) : null;
  }

  private async lookAt(proxy: Proxy, facts: ProxyRefundFacts): Promise<ProxyRefundOut> {
    const rule = await this.rules.shown();
    const code = this.refusalOf(proxy, facts, rule);
    return {
      state: 'none',
      ...toCode(code, rule),
      amount: facts.amount,
      failed_checks: 0,
      requested_at: null,
      closed_at: null,
    };
  }

  private refusalOf(proxy: Proxy, facts: ProxyRefundFacts, rule: RefundRuleOut): ProxyRefundRefusal | null {
    const isRunning =
      proxy.withdrawnAt === null && (proxy.dateEnd?.getTime() ?? 0) > this.clock.now().getTime();
    const isCovered = rule.versions.some((version) => version === proxy.version);
    const isEnabled = rule.enabled && this.checks.areEnabled;
    if (!isEnabled || !isRunning || !isCovered || !Money.parse(facts.amount).isPositive()) {
      return 'not-refundable';
    }
    if (!facts.is_in_period) return 'refund-period-over';
    return facts.is_within_quota ? null : 'refund-quota-used';
  }
}

function toCode(
  code: ProxyRefundRefusal | null,
  rule: RefundRuleOut,
): Pick<ProxyRefundOut, 'code' | 'detail'> {
  return { code, detail: code && fulfilmentOf(code, rule) };
}

function toRefundOut(row: ProxyRefundRow, rule: RefundRuleOut): ProxyRefundOut {
  const { state, amount, requested_at, closed_at } = row;
  const refusal = PROXY_REFUND_REFUSALS.find((code) => code === row.reason) ?? 'not-refundable';
  const code = state === 'refused' ? refusal : null;
  // Hidden while checks are running: a customer who saw that one had failed could make the next one fail.
  const failedChecks = state === 'checking' ? 0 : row.failed_checks;
  return { state, ...toCode(code, rule), amount, failed_checks: failedChecks, requested_at, closed_at };
}
