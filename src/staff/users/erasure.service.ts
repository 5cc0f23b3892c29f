import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ALL_STAFF_SCOPES, TOKENS_DATA } from '../../auth';
import {
  countRowsOfUser,
  eraseRowsOfUser,
  lockRowsOfUser,
  type PersonalData,
  type Queryable,
  queryRow,
  queryRows,
  type RowsOfUser,
  sqlList,
} from '../../database';
import { EVENTS_DATA } from '../../events';
import { LEDGER_DATA } from '../../ledger';
import { OAUTH_DATA } from '../../oauth';
import { OPEN_STATES, ORDERS_DATA } from '../../orders';
import { PAYMENTS_DATA } from '../../payments';
import { PROXIES_DATA } from '../../proxies';
import { RENEWALS_DATA } from '../../renewals';
import { USERS_DATA, UserNotFound } from '../../users';
import { WEBHOOKS_DATA } from '../../webhooks';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import { RunningProxiesChanged, UserNotErasable } from '../staff.errors';
import type { ErasureOut } from './staff-users.dto';

/**
 * Tables in locking order. Events come last, because deleting unpublished events blocks publishing until the
 * transaction ends.
 */
const DATA: PersonalData = {
  ...ORDERS_DATA,
  ...PROXIES_DATA,
  ...PAYMENTS_DATA,
  ...LEDGER_DATA,
  proxy_refunds: 'SELECT FROM proxy_refunds WHERE user_id = $1',
  price_rules: 'SELECT FROM price_rules WHERE user_id = $1',
  ...RENEWALS_DATA,
  ...WEBHOOKS_DATA,
  ...TOKENS_DATA,
  ...OAUTH_DATA,
  ...USERS_DATA,
  ...EVENTS_DATA,
};
/** Tables that every transaction locks before the account. */
const LOCKED_FIRST: PersonalData = Object.fromEntries(
  Object.entries(DATA).filter(([table]) => ['orders', 'proxies', 'deposits'].includes(table)),
);

/** Rows that prevent an erasure. */
const OPEN = {
  balance: 'SELECT FROM accounts WHERE user_id = $1 AND available + held > 0',
  orders: `SELECT FROM orders WHERE user_id = $1 AND state IN ${sqlList(OPEN_STATES)}`,
  deposits: `SELECT FROM deposits WHERE user_id = $1 AND state = 'pending'`,
  'deposit-refunds': `SELECT FROM deposit_refunds WHERE user_id = $1 AND state IN ('held', 'found')`,
  refunds: `SELECT FROM proxy_refunds WHERE user_id = $1 AND state IN ('checking', 'staff')`,
  // Staff cannot be erased, because the audit log must keep showing who acted.
  staff: `SELECT FROM audit_log WHERE user_id = $1
          UNION ALL
          SELECT FROM api_tokens WHERE user_id = $1 AND revoked_at IS NULL AND scopes && $2::text[]`,
};

type Preview = Pick<ErasureOut, 'open' | 'running_proxies'>;

/** Erases customers' data, except accounting data. */
@Injectable()
export class ErasureService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly auditLog: AuditLogService,
  ) {}

  /**
   * @param expected number of running proxies that the dry run showed; null for a dry run
   * @throws UserNotFound, UserNotErasable, RunningProxiesChanged
   */
  async erase(
    audit: AuditContext,
    userId: number,
    expected: number | null,
    reason: string,
  ): Promise<ErasureOut> {
    const shown = await this.preview(userId, this.dataSource);
    if (expected === null) {
      return { dry_run: true, ...shown, data: await this.count(userId, this.dataSource) };
    }
    assertErasable(shown, expected);
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const data = await this.count(userId, manager);
      await lockRowsOfUser(manager, userId, LOCKED_FIRST);
      await queryRows(manager, 'SELECT FROM lock_accounts(ARRAY[$1::bigint])', [userId]);
      await queryRows(manager, 'SELECT FROM users WHERE id = $1 FOR UPDATE', [userId]);
      const locked = await this.preview(userId, manager);
      assertErasable(locked, expected);
      await queryRows(manager, 'SELECT erase_audit_lines($1, false)', [userId]);
      await eraseRowsOfUser(manager, userId, DATA);
      const after = { ...locked, data };
      await record({ reason, after });
      return { dry_run: false, ...after };
    });
  }

  private async preview(userId: number, queryable: Queryable): Promise<Preview> {
    const [found] = await queryRows<Preview>(
      queryable,
      `SELECT (SELECT count(*) FROM proxies WHERE user_id = $1 AND active) AS running_proxies,
              array_remove(ARRAY[${Object.entries(OPEN)
                .map(([name, rows]) => `CASE WHEN EXISTS (${rows}) THEN '${name}' END`)
                .join()}], NULL) AS open
         FROM users WHERE id = $1`,
      [userId, ALL_STAFF_SCOPES],
    );
    if (!found) throw new UserNotFound();
    return found;
  }

  private async count(userId: number, queryable: Queryable): Promise<RowsOfUser[]> {
    const lines = await queryRow<{ rows: number }>(queryable, 'SELECT erase_audit_lines($1, true) AS rows', [
      userId,
    ]);
    const counted = await countRowsOfUser(queryable, userId, DATA);
    return [...counted, { table: 'audit_log', effect: 'cleared', ...lines }];
  }
}

function assertErasable({ open, running_proxies: running }: Preview, expected: number): void {
  if (open.length > 0) throw new UserNotErasable(open);
  if (running !== expected) throw new RunningProxiesChanged();
}
