import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { TokensService } from '../../auth';
import { queryRows, sqlList } from '../../database';
import { type PageRequest, readPage } from '../../http';
import { OPEN_STATES } from '../../orders';
import { type NewUser, type User, UserNotFound, UsersService } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import { userLinks } from '../links';
import type { FoundUser, UserOut, UserProfile, UsersPage } from './staff-users.dto';

/**
 * SQL for the users who could be mistaken for a user because of a self-chosen name. An index finds each name.
 */
const NAMESAKES = `
  SELECT id FROM users AS other WHERE lower(telegram_username)
           IN (lower(users.username), lower(users.web_username), lower(users.telegram_username))
  UNION SELECT id FROM users AS other WHERE lower(username) = lower(users.telegram_username)
  UNION SELECT id FROM users AS other WHERE lower(web_username) = lower(users.telegram_username)`;

/** Columns of a FoundUser. */
const COLUMNS = `
  users.id, username, telegram_username, tg_id, web_username, has_app, users.created_at, blocked_at,
  blocked_reason,
  ARRAY(SELECT '/staff/users/' || same.id FROM (${NAMESAKES}) AS same
         WHERE same.id <> users.id ORDER BY same.id LIMIT 10) AS same_name_as,
  (SELECT available FROM accounts WHERE accounts.user_id = users.id) AS balance,
  (SELECT held FROM accounts WHERE accounts.user_id = users.id) AS held,
  (SELECT max(orders.created_at) FROM orders WHERE orders.user_id = users.id) AS last_order_at`;

/**
 * Minimum length of a text that is found anywhere in a name; shorter ones have trigrams only at word starts.
 */
const SHORTEST_PART = 3;
/** Number of newest users that are searched one by one before the index is used. */
const NEWEST = 5000;

/** A user as stored in the audit log. */
type UserRecord = Omit<UserOut, 'links'>;

const withLinks = <Found extends { readonly id: number }>(user: Found) => ({
  ...user,
  links: userLinks(user.id),
});

const toUserRecord = (user: User): UserRecord => ({
  id: user.id,
  username: user.username,
  telegram_username: user.telegramUsername,
  tg_id: user.tgId,
  web_username: user.webUsername,
  has_app: user.hasApp,
  created_at: user.createdAt,
  blocked_at: user.blockedAt,
  blocked_reason: user.blockedReason,
});

@Injectable()
export class StaffUsersService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly users: UsersService,
    private readonly tokens: TokensService,
    private readonly auditLog: AuditLogService,
  ) {}

  /** Creates a user. @throws UserExists */
  create(audit: AuditContext, user: NewUser): Promise<UserOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const after = toUserRecord(await this.users.create(user, manager));
      await record({ target: { type: 'user', id: after.id }, after });
      return withLinks(after);
    });
  }

  /** Blocks or unblocks a user. @throws UserNotFound, StaffScopesForAnother */
  setBlocked(audit: AuditContext, userId: number, reason: string, isBlocked: boolean): Promise<UserOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const { before, after } = await this.users.setBlocked(userId, isBlocked ? reason : null, manager);
      await this.tokens.assertMayEnd(audit.caller, 'user_id', [userId], manager);
      await record({ reason, before: toUserRecord(before), after: toUserRecord(after) });
      return withLinks(toUserRecord(after));
    });
  }

  /**
   * Finds users, newest first.
   *
   * @param part a whole id, or a case-insensitive part of a username, telegram_username, web_username or
   *   tg_id; fewer than three characters match only at the beginning; null lists all users
   */
  search(part: string | null, page: PageRequest): Promise<UsersPage> {
    return readPage(page, async (wider) => (await this.find(part, wider)).map(withLinks));
  }

  private async find(
    part: string | null,
    { cursor, limit }: PageRequest,
  ): Promise<Omit<FoundUser, 'links'>[]> {
    const before = cursor ?? Number.MAX_SAFE_INTEGER;
    if (part === null) {
      return queryRows(
        this.dataSource,
        `SELECT ${COLUMNS} FROM users WHERE id < $1 ORDER BY id DESC LIMIT $2`,
        [before, limit],
      );
    }
    const escaped = part.replaceAll(/[\\%_]/g, '\\$&');
    const pattern = part.length < SHORTEST_PART ? `${escaped}%` : `%${escaped}%`;
    const id = /^\d{1,16}$/.test(part) ? Number(part) : null;
    const matches = `(username ILIKE $2 OR telegram_username ILIKE $2 OR web_username ILIKE $2
                      OR tg_id::text ILIKE $2 ${id === null ? '' : 'OR id = $4'})`;
    const parameters = [before, pattern, limit, ...(id === null ? [] : [id])];
    // A common substring is found quickly among the newest users, a rare one by the index. The planner cannot
    // tell which applies: if only old users match, it would read all users.
    const found = await queryRows<Omit<FoundUser, 'links'>>(
      this.dataSource,
      `SELECT ${COLUMNS} FROM (SELECT * FROM users WHERE id < $1 ORDER BY id DESC LIMIT ${NEWEST}) AS users
        WHERE ${matches} ORDER BY id DESC LIMIT $3`,
      parameters,
    );
    if (found.length === limit) return found;
    return queryRows(
      this.dataSource,
      `SELECT ${COLUMNS} FROM users WHERE id = ANY (ARRAY(SELECT id FROM users WHERE id < $1 AND ${matches}))
        ORDER BY id DESC LIMIT $3`,
      parameters,
    );
  }

  /** Returns a user's profile. @throws UserNotFound */
  async getProfile(userId: number): Promise<UserProfile> {
    const [profile] = await queryRows<Omit<UserProfile, 'links'>>(
      this.dataSource,
      `SELECT ${COLUMNS}, spent AS spent_total, spending.*,
              (SELECT count(*) FROM orders
                WHERE orders.user_id = users.id AND state IN ${sqlList(OPEN_STATES)}) AS open_orders
         FROM users JOIN accounts ON accounts.user_id = users.id,
              LATERAL (
                SELECT coalesce(sum(amount) FILTER (WHERE spent_at >= current_date), 0)::numeric(14,2)
                         AS spent_today,
                       coalesce(sum(amount), 0)::numeric(14,2) AS spent_30_days
                  FROM (SELECT entry.created_at AS spent_at,
                               CASE kind WHEN 'capture' THEN -held_delta ELSE -available_delta END AS amount
                          FROM ledger_entries entry
                         WHERE entry.user_id = users.id AND entry.created_at >= now() - interval '30 days'
                           AND kind IN ('capture', 'refund')) AS lately
              ) AS spending
        WHERE users.id = $1`,
      [userId],
    );
    if (!profile) throw new UserNotFound();
    return withLinks(profile);
  }
}
