import { Body, Controller, Get, Post, Put, Query, type StreamableFile } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Clock, csvLine, disarmFormula } from '../../common';
import { csvFile, IdParam, INVALID_PERIOD, assertPeriod, readPage } from '../../http';
import { SalesService } from '../../ledger';
import {
  RefundNotForStaff,
  ProxyRefundNotFound,
  RefundSharesOut,
  RefundWaits,
  StaffRefundOut,
  StaffRefundRuleOut,
  RefundRules,
  type StaffRefundFilter,
  StaffRefunds,
} from '../../proxy-refunds';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import { CurrentAudit, OWN_ACCOUNT_ERRORS, notFound, StaffRoute } from '../staff-route';
import {
  ProxyRefundDecisionRequest,
  RefundRuleRequest,
  RefundSharesQuery,
  RefundsFileQuery,
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
const SHARE_DAYS = 30;
const DAY_MS = 86_400_000;

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

@ApiTags('Orders')
@Controller('staff')
export class StaffRefundsController {
  constructor(
    private readonly refunds: StaffRefunds,
    private readonly rules: RefundRules,
    private readonly sales: SalesService,
    private readonly clock: Clock,
    private readonly auditLog: AuditLogService,
  ) {}

  @Get('refund-rule')
  @StaffRoute({
    scope: 'staff:system',
    action: 'refund-rule.read',
    summary: 'Show the refund rule',
    description: 'For operators: the conditions under which proxies that do not work are refunded.',
    response: { description: 'The rule', type: StaffRefundRuleOut },
  })
  readRule(): Promise<StaffRefundRuleOut> {
    return this.rules.get();
  }

  @Put('refund-rule')
  @StaffRoute({
    scope: 'staff:system',
    action: 'refund-rule.set',
    summary: 'Set the refund rule',
    description:
      'For operators: replaces the conditions under which proxies that do not work are refunded. ' +
      'Refunds that are being checked follow the new rule; if it is disabled, they are left to staff. ' +
      'A customer can make a proxy fail by saturating it; `quota` and `quota_sum` limit such refunds.',
    response: { description: 'The rule', type: StaffRefundRuleOut },
  })
  setRule(@CurrentAudit() audit: AuditContext, @Body() body: RefundRuleRequest): Promise<StaffRefundRuleOut> {
    const { reason, daily_sum: dailySum, quota_sum: quotaSum, ...rule } = body;
    const sums = { daily_sum: dailySum.toString(), quota_sum: quotaSum && quotaSum.toString() };
    return this.auditLog.recordChangeOf(audit, reason, {
      before: (manager) => this.rules.lock(manager),
      change: (manager) => this.rules.set({ ...rule, ...sums }, manager),
    });
  }

  @Get('refunds')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'refunds.list',
    summary: 'List refunds of proxies',
    description:
      'For support: refunds of proxies that do not work, newest first. `state=staff` selects those ' +
      'that await a decision.',
    response: { description: 'A page of refunds, newest first', type: RefundsPage },
    errors: { 400: INVALID_PERIOD },
  })
  list(@Query() query: RefundsQuery): Promise<RefundsPage> {
    assertPeriod(query.from, query.to);
    return readPage(query, (page) => this.refunds.list(query, page));
  }

  @Get('refunds/shares')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'refunds.shares',
    summary: 'Show refunds made under the refund rule',
    description:
      'For operators, to set the limits of the refund rule and to notice customers who make proxies ' +
      'fail: the amount refunded under the rule in 30 days, and its share of the amount paid, overall ' +
      'and by customer.',
    response: { description: 'The shares', type: RefundSharesOut },
  })
  async shares(@Query() { user_id: userId }: RefundSharesQuery): Promise<RefundSharesOut> {
    const today = this.clock.now().getTime();
    const [from, to] = [dayOf(today - (SHARE_DAYS - 1) * DAY_MS), dayOf(today)];
    const { total } = await this.sales.read({ from, to, by: ['day'] });
    return this.refunds.shares(from, total.sales, userId);
  }

  @Get('refunds/file')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'refunds.file',
    summary: 'Download refunds of proxies as CSV',
    description:
      'For a complaint to the provider: the refunds that were requested in a period, newest first, ' +
      'with subnets, countries, failures and amounts.',
    response: {
      description: 'A CSV file (RFC 4180). Its first line contains the column names',
      content: {
        'text/csv': {
          schema: { type: 'string' },
          example:
            'id,state,reason,user_id,proxy_id,provider_proxy_id,host,subnet,country,version,failures,' +
            'amount,requested_at,closed_at\r\n' +
            '7,refunded,,42,1001,2000123,203.0.113.7,203.0.113.0/24,ru,4,timeout timeout refused,12.54,' +
            '2026-11-21T12:00:00.000Z,2026-11-21T12:31:00.000Z\r\n',
        },
      },
    },
    errors: { 400: INVALID_PERIOD },
  })
  download(@Query() { from, to, excel }: RefundsFileQuery): Promise<StreamableFile> {
    assertPeriod(from, to);
    const rows = this.toCsv({ state: null, user_id: null, from, to });
    return csvFile(rows, { name: 'refunds', excel });
  }

  @Post('refunds/:refund_id/decide')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'refunds.decide',
    on: 'refund',
    summary: 'Decide a refund of a proxy',
    description:
      'For support, when the rule leaves a refund to staff. `refund` refunds the days that were left ' +
      'at the time of the request, including those of later orders, permanently withdraws the proxy, ' +
      'and deletes it at the provider. `refuse` changes nothing.',
    response: { description: 'The updated refund', type: StaffRefundOut },
    errors: {
      403: OWN_ACCOUNT_ERRORS,
      404: notFound(ProxyRefundNotFound),
      409: ['Nothing was changed', RefundNotForStaff, RefundWaits],
    },
  })
  async decide(
    @CurrentAudit() audit: AuditContext,
    @IdParam('refund_id') id: number,
    @Body() body: ProxyRefundDecisionRequest,
  ): Promise<StaffRefundOut> {
    const { decision, reason } = body;
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
}

const toLine = (row: StaffRefundOut): string =>
  csvLine(
    COLUMNS.map((column) => {
      const value = row[column];
      if (value instanceof Date) return value.toISOString();
      return disarmFormula(Array.isArray(value) ? value.join(' ') : String(value ?? ''));
    }),
  );
