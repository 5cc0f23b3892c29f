import { Injectable } from '@nestjs/common';
import { Clock, csvLine, disarmFormula } from '../../common';
import { assertPeriod, readPage } from '../../http';
import { SalesService } from '../../ledger';
import {
  type RefundRule,
  RefundRules,
  type RefundSharesOut,
  type StaffRefundFilter,
  type StaffRefundOut,
  StaffRefunds,
} from '../../proxy-refunds';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import type {
  RefundDecisionRequest,
  RefundRuleRequest,
  RefundsPage,
  RefundsQuery,
} from './staff-refunds.dto';

const COLUMNS = [
  'id',
  'state',
  'reason',
  'user_id',
  'proxy_id',
  'provider_proxy_id',
  'host',
  'subnet',
  'country',
  'version',
  'failures',
  'amount',
  'requested_at',
  'closed_at',
] as const satisfies readonly (keyof StaffRefundOut)[];

const BATCH_SIZE = 500;
/** Length of the quota's period, in days. */
const SHARE_DAYS = 30;
const DAY_MS = 86_400_000;

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

@Injectable()
export class StaffRefundsService {
  constructor(
    private readonly refunds: StaffRefunds,
    private readonly rules: RefundRules,
    private readonly sales: SalesService,
    private readonly clock: Clock,
    private readonly auditLog: AuditLogService,
  ) {}

  getRule(): Promise<RefundRule> {
    return this.rules.get();
  }

  setRule(
    audit: AuditContext,
    { reason, daily_sum: dailySum, quota_sum: quotaSum, ...rule }: RefundRuleRequest,
  ): Promise<RefundRule> {
    const sums = { daily_sum: dailySum.toString(), quota_sum: quotaSum && quotaSum.toString() };
    return this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => this.rules.lock(manager),
      change: (manager) => this.rules.set({ ...rule, ...sums }, manager),
    });
  }

  /** Lists refunds. @throws InvalidPeriod */
  list(query: RefundsQuery): Promise<RefundsPage> {
    assertPeriod(query.from, query.to);
    return readPage(query, (page) => this.refunds.list(query, page));
  }

  async shares(userId: number | null): Promise<RefundSharesOut> {
    const today = this.clock.now().getTime();
    const [from, to] = [dayOf(today - (SHARE_DAYS - 1) * DAY_MS), dayOf(today)];
    const { total } = await this.sales.read({ from, to, by: ['day'] });
    return this.refunds.shares(from, total.sales, userId);
  }

  /** Writes the refunds that were requested in a period as CSV, newest first. @throws InvalidPeriod */
  writeCsv(from: Date, to: Date): AsyncGenerator<string> {
    assertPeriod(from, to);
    return this.toCsv({ state: null, user_id: null, from, to });
  }

  private async *toCsv(filter: StaffRefundFilter): AsyncGenerator<string> {
    let head = csvLine(COLUMNS);
    for (let cursor: number | null = null; ;) {
      const rows: StaffRefundOut[] = await this.refunds.list(filter, { cursor, limit: BATCH_SIZE });
      yield head + rows.map(toLine).join('');
      head = '';
      cursor = rows.at(-1)?.id ?? null;
      if (rows.length < BATCH_SIZE) return;
    }
  }

  /** Grants or refuses a refund. @throws ProxyRefundNotFound, RefundNotForStaff, RefundWaits, OwnAccount */
  async decide(
    audit: AuditContext,
    id: number,
    { decision, reason }: RefundDecisionRequest,
  ): Promise<StaffRefundOut> {
    const decided = await this.auditLog.recordChange(audit, async (manager, record) => {
      const before = await this.refunds.lock(id, manager);
      audit.assertConcernsAnother(before.user_id);
      await this.refunds[decision](id, manager);
      const after = await this.refunds.get(id, manager);
      await this.refunds.recordDecision(id, await record({ reason, before, after }), manager);
      return after;
    });
    this.refunds.announce(id);
    return decided;
  }
}

const toLine = (row: StaffRefundOut): string =>
  csvLine(
    COLUMNS.map((column) => {
      const value = row[column];
      if (value instanceof Date) return value.toISOString();
      return disarmFormula(Array.isArray(value) ? value.join(' ') : String(value ?? ''));
    }),
  );
