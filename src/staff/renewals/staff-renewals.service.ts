import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Conditions, lockUser, type Queryable, queryRows } from '../../database';
import { type PageRequest, readPage } from '../../http';
import { pauseAllRenewals, pauseRenewalsOf, RENEWAL_WAITS } from '../../renewals';
import { UserNotFound } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import { usernameOf, withUserLinks } from '../links';
import type {
  AllRenewalsOut,
  RenewalRuleOfUserOut,
  RenewalsOfUserOut,
  RenewalsPage,
  RenewalsQuery,
  StaffRenewalOut,
} from './staff-renewals.dto';

/** A user's renewal settings as they are stored in the audit log. */
type RenewalSettingsOfUser = Omit<RenewalsOfUserOut, 'rules' | 'links'>;

const SHOWN_RULES = 1000;

@Injectable()
export class StaffRenewalsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly auditLog: AuditLogService,
  ) {}

  list(query: RenewalsQuery): Promise<RenewalsPage> {
    return readPage(query, async (wider) => (await this.find(query, wider)).map(withUserLinks));
  }

  private find(
    { user_id: userId, state, reason, due }: RenewalsQuery,
    page: PageRequest,
  ): Promise<Omit<StaffRenewalOut, 'links'>[]> {
    const conditions = new Conditions();
    conditions.by(userId, (id) => `user_id = ${id}`);
    conditions.by(state, (name) => `state = ${name}`);
    conditions.by(reason, (name) => `reason = ${name}`);
    // With an array, PostgreSQL finds waiting renewals by time. Otherwise it would read all renewals by id.
    if (due) conditions.add(`id = ANY (ARRAY(SELECT id FROM renewals WHERE ${RENEWAL_WAITS}))`);
    return queryRows(
      this.dataSource,
      `SELECT id, user_id, ${usernameOf('renewals.user_id')} AS username, proxy_id,
              date_end_before AS date_end, rule_id, state, reason, period, price, due_at, next_try_at,
              order_id
         FROM renewals ${conditions.toPageSql(page)}`,
      conditions.parameters,
    );
  }

  /** Returns a user's renewal settings and rules. @throws UserNotFound */
  async ofUser(userId: number): Promise<RenewalsOfUserOut> {
    return this.withRules(await this.settingsOf(userId, this.dataSource), this.dataSource);
  }

  /**
   * Pauses or resumes a user's renewals. Pausing again keeps the original time and updates the reason.
   * @throws UserNotFound
   */
  pause(audit: AuditContext, userId: number, isPaused: boolean, reason: string): Promise<RenewalsOfUserOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      await lockUser(manager, userId);
      const before = await this.settingsOf(userId, manager);
      await pauseRenewalsOf(manager, userId, isPaused, reason);
      const after = await this.settingsOf(userId, manager);
      await record({ reason, before, after });
      return this.withRules(after, manager);
    });
  }

  /** @throws UserNotFound */
  private async settingsOf(userId: number, queryable: Queryable): Promise<RenewalSettingsOfUser> {
    const [found] = await queryRows<RenewalSettingsOfUser>(
      queryable,
      `SELECT users.id AS user_id, coalesce(username, web_username) AS username, paused_at, paused_reason,
              monthly_budget, renewals_spent(users.id, date_trunc('month', now(), 'UTC')) AS spent_this_month
         FROM users LEFT JOIN renewal_settings ON renewal_settings.user_id = users.id
        WHERE users.id = $1`,
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

  /** Pauses or resumes all renewals. Pausing again keeps the original time and updates the reason. */
  pauseAll(audit: AuditContext, isPaused: boolean, reason: string): Promise<AllRenewalsOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const { before, after } = await pauseAllRenewals(manager, isPaused, reason);
      await record({ reason, before, after });
      return after;
    });
  }
}
