import { Body, Controller, Get, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { Conditions, lockUser, type Queryable, queryRows } from '../../database';
import { IdParam, readPage } from '../../http';
import { pauseAllRenewals, pauseRenewalsOf, RENEWAL_WAITS_SQL } from '../../renewals';
import { UserNotFound } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import { usernameSql, withUserLinks } from '../links';
import { CurrentAudit, notFound, StaffRoute } from '../staff-route';
import {
  AllRenewalsOut,
  PauseRequest,
  type RenewalRuleOfUserOut,
  RenewalsOfUserOut,
  StaffRenewalsPage,
  RenewalsQuery,
  type StaffRenewalOut,
} from './staff-renewals.dto';

/** User's renewal settings as stored in the audit log. */
type RenewalSettingsOfUser = Omit<RenewalsOfUserOut, 'rules' | 'links'>;

const SHOWN_RULES = 1000;

@ApiTags('Renewals')
@Controller('staff')
export class StaffRenewalsController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly auditLog: AuditLogService,
  ) {}

  @Get('renewals')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'renewals.list',
    summary: 'List renewals',
    description:
      'For support and operators: renewals, and failures with their reasons, newest first. `due=true` ' +
      'selects due renewals that are waiting for the service or the provider. A `skipped` renewal is ' +
      'retried until an hour before the rental ends.',
    response: { description: 'A page of renewals, newest first', type: StaffRenewalsPage },
  })
  list(@Query() query: RenewalsQuery): Promise<StaffRenewalsPage> {
    const { user_id: userId, state, reason, due } = query;
    const conditions = new Conditions();
    conditions.by(userId, (id) => `user_id = ${id}`);
    conditions.by(state, (name) => `state = ${name}`);
    conditions.by(reason, (name) => `reason = ${name}`);
    // The array makes PostgreSQL find waiting renewals by time. Otherwise, it would read all renewals by id.
    if (due) conditions.add(`id = ANY (ARRAY(SELECT id FROM renewals WHERE ${RENEWAL_WAITS_SQL}))`);
    return readPage(query, async (page) => {
      const found = await queryRows<Omit<StaffRenewalOut, 'links'>>(
        this.dataSource,
        `SELECT id, user_id, ${usernameSql('renewals.user_id')} AS username, proxy_id,
                date_end_before AS date_end, rule_id, state, reason, period, price, due_at, next_try_at,
                order_id
           FROM renewals ${conditions.toPageSql(page)}`,
        conditions.parameters,
      );
      return found.map(withUserLinks);
    });
  }

  @Put('renewals')
  @StaffRoute({
    scope: 'staff:system',
    action: 'renewals.pause-all',
    summary: 'Pause or resume all renewals',
    description:
      'For operators, when renewals cause harm: while `paused` is `true`, no renewal is ordered. Due ' +
      'renewals are skipped with the reason `paused`, which customers see, and are ordered once ' +
      '`paused` is `false`, unless the rental then ends within an hour. Orders that were already ' +
      'placed are still executed.',
    response: { description: 'Whether renewals are paused', type: AllRenewalsOut },
  })
  pauseAll(
    @CurrentAudit() audit: AuditContext,
    @Body() { paused, reason }: PauseRequest,
  ): Promise<AllRenewalsOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const { before, after } = await pauseAllRenewals(manager, paused, reason);
      await record({ reason, before, after });
      return after;
    });
  }

  @Get('users/:user_id/renewals')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'renewals.read',
    on: 'user',
    summary: 'Show the renewals of a user',
    description:
      "For support: the user's enabled rules, the budget and how much of it was used this month (UTC), " +
      "and whether staff have paused the user's renewals.",
    response: { description: 'The rules and the budget', type: RenewalsOfUserOut },
    errors: { 404: notFound(UserNotFound) },
  })
  async read(@IdParam('user_id') userId: number): Promise<RenewalsOfUserOut> {
    return this.withRules(await this.settingsOf(userId, this.dataSource), this.dataSource);
  }

  @Put('users/:user_id/renewals')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'renewals.pause',
    on: 'user',
    summary: "Pause or resume a user's renewals",
    description:
      'For support, when a customer has doubts about renewals, or money is disputed. Rules are left ' +
      'unchanged. Due renewals are skipped with the reason `paused`, which the customer sees, and are ' +
      'ordered once renewals continue, unless the rental then ends within an hour.',
    response: { description: 'The rules and the budget', type: RenewalsOfUserOut },
    errors: { 404: notFound(UserNotFound) },
  })
  pause(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() { paused, reason }: PauseRequest,
  ): Promise<RenewalsOfUserOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      await lockUser(manager, userId);
      const before = await this.settingsOf(userId, manager);
      await pauseRenewalsOf(manager, userId, paused, reason);
      const after = await this.settingsOf(userId, manager);
      await record({ reason, before, after });
      return this.withRules(after, manager);
    });
  }

  private async settingsOf(userId: number, queryable: Queryable): Promise<RenewalSettingsOfUser> {
    const [found] = await queryRows<RenewalSettingsOfUser>(
      queryable,
      `SELECT users.id AS user_id, coalesce(username, web_username) AS username, paused_at, paused_reason,
              monthly_budget, renewals_spent(users.id, date_trunc('month', now(), 'UTC')) AS spent_this_month
         FROM users LEFT JOIN renewal_settings ON renewal_settings.user_id = users.id
        WHERE users.id = $1 AND deleted_at IS NULL`,
      [userId],
    );
    if (!found) throw new UserNotFound();
    return found;
  }

  private async withRules(settings: RenewalSettingsOfUser, queryable: Queryable): Promise<RenewalsOfUserOut> {
    const rules = await queryRows<RenewalRuleOfUserOut>(
      queryable,
      `SELECT id, proxy_id, country, label, tag, period, max_price, hours_before, created_at
         FROM renewal_rules WHERE user_id = $1 AND disabled_at IS NULL
        ORDER BY id DESC LIMIT ${SHOWN_RULES}`,
      [settings.user_id],
    );
    return withUserLinks({ ...settings, rules });
  }
}
