import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { TokensService } from '../../auth';
import { queryRows, sqlList } from '../../database';
import { IdParam, type PageRequest, readPage } from '../../http';
import { OPEN_STATES } from '../../orders';
import { UserExists, UserNotFound, type User, UsersService } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService } from '../audit-log/audit-log.service';
import { ReasonRequest } from '../fields';
import { userLinks } from '../links';
import { CurrentAudit, notFound, STAFF_USER_ERRORS, StaffRoute } from '../staff-route';
import { RunningProxiesChanged, UserNotErasable } from '../staff.errors';
import { ErasureService } from './erasure.service';
import {
  ErasureOut,
  ErasureRequest,
  NewUserRequest,
  UserOut,
  UserProfile,
  UsersPage,
  UsersQuery,
  type FoundUser,
} from './staff-users.dto';

/** Finds users whose self-chosen names could be confused with this user's. */
const NAMESAKES = `
  SELECT id FROM users AS other WHERE lower(telegram_username)
           IN (lower(users.username), lower(users.web_username), lower(users.telegram_username))
  UNION SELECT id FROM users AS other WHERE lower(username) = lower(users.telegram_username)
  UNION SELECT id FROM users AS other WHERE lower(web_username) = lower(users.telegram_username)`;

const COLUMNS = `
  users.id, username, telegram_username, tg_id, web_username, has_app, users.created_at, blocked_at,
  blocked_reason, deleted_at,
  ARRAY(SELECT '/staff/users/' || same.id FROM (${NAMESAKES}) AS same
         WHERE same.id <> users.id ORDER BY same.id LIMIT 10) AS same_name_as,
  (SELECT available FROM accounts WHERE accounts.user_id = users.id) AS balance,
  (SELECT held FROM accounts WHERE accounts.user_id = users.id) AS held,
  (SELECT max(orders.created_at) FROM orders WHERE orders.user_id = users.id) AS last_order_at`;

/** A shorter text is searched for only at the start of names: the trigram index cannot find it elsewhere. */
const SHORTEST_PART = 3;
/** Number of newest users to scan before the index is used. */
const NEWEST = 5000;

/** User as stored in the audit log. */
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
  deleted_at: user.deletedAt,
});

@ApiTags('Users')
@Controller('staff/users')
export class StaffUsersController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly users: UsersService,
    private readonly tokens: TokensService,
    private readonly auditLog: AuditLogService,
    private readonly erasure: ErasureService,
  ) {}

  @Post()
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.create',
    summary: 'Create a user',
    description:
      'For support, when somebody becomes a customer. The new user has an empty account: credit it and ' +
      'issue a token next.',
    status: 201,
    response: { description: 'The user', type: UserOut },
    errors: {
      409: [
        'Another user has this tg_id or web_username',
        new UserExists('tg_id'),
        new UserExists('web_username'),
      ],
    },
  })
  create(@CurrentAudit() audit: AuditContext, @Body() body: NewUserRequest): Promise<UserOut> {
    const { username, tg_id: tgId, web_username: webUsername, has_app: hasApp } = body;
    const user = { username, tgId, webUsername, hasApp };
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const after = toUserRecord(await this.users.create(user, manager));
      await record({ target: { type: 'user', id: after.id }, after });
      return withLinks(after);
    });
  }

  @Get()
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.search',
    summary: 'Find users',
    description:
      'For support, to find a user. `query` is a complete id, or part of the username, ' +
      'telegram_username, web_username (case-insensitive) or tg_id. A query of one or two characters ' +
      'matches only the beginning. Without `query`, all users are listed. Users are listed newest ' +
      'first.',
    response: { description: 'A page of users, newest first', type: UsersPage },
  })
  search(@Query() query: UsersQuery): Promise<UsersPage> {
    const part = query.query;
    return readPage(query, async (wider) => (await this.find(part, wider)).map(withLinks));
  }

  @Get(':user_id')
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.read',
    on: 'user',
    summary: 'Show a user',
    description:
      "For support: a user's balance, held money, spending and open orders, and whether the user is " +
      'blocked.',
    response: { description: 'The user, with balance and spending', type: UserProfile },
    errors: { 404: notFound(UserNotFound) },
  })
  async read(@IdParam('user_id') userId: number): Promise<UserProfile> {
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

  @Post(':user_id/block')
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.block',
    on: 'user',
    summary: 'Block a user',
    description:
      "For support and investigations. From the next request on, all of the user's tokens return 403 " +
      '`User is blocked`. Open orders are still completed or refunded. Blocking a blocked user keeps ' +
      'the original time and replaces the reason.',
    response: { description: 'The user', type: UserOut },
    errors: { 403: STAFF_USER_ERRORS, 404: notFound(UserNotFound) },
  })
  block(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<UserOut> {
    return this.setBlocked(audit, userId, reason, reason);
  }

  @Post(':user_id/unblock')
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.unblock',
    on: 'user',
    summary: 'Unblock a user',
    description:
      "For support, when the matter is resolved. The user's tokens immediately work again, except " +
      'those that were revoked or have expired.',
    response: { description: 'The user', type: UserOut },
    errors: { 403: STAFF_USER_ERRORS, 404: notFound(UserNotFound) },
  })
  unblock(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<UserOut> {
    return this.setBlocked(audit, userId, reason, null);
  }

  /** @param blockedReason null unblocks the user */
  private setBlocked(
    audit: AuditContext,
    userId: number,
    reason: string,
    blockedReason: string | null,
  ): Promise<UserOut> {
    return this.auditLog.recordChange(audit, async (manager, record) => {
      const { before, after } = await this.users.setBlocked(userId, blockedReason, manager);
      await this.tokens.assertMayEnd(audit.caller, 'user_id', [userId], manager);
      await record({ reason, before: toUserRecord(before), after: toUserRecord(after) });
      return withLinks(toUserRecord(after));
    });
  }

  @Post(':user_id/erase')
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.erase',
    on: 'user',
    summary: "Erase a customer's data",
    description:
      'For support, when a customer requests the deletion of their data, or has left. Without ' +
      '`running_proxies`, this is a dry run, which shows how many rows of each table would be deleted, ' +
      'cleared or kept, and what is still `open`. With the number that the dry run showed, the data is ' +
      'erased and cannot be recovered: all tokens are revoked, and webhooks, links, labels, names and ' +
      'addresses are gone. The books, with orders and deposits, are kept under the id of the user, ' +
      'whose `deleted_at` is set. The same person can become a customer again, as a new user.',
    response: { description: "The user's rows before the erasure", type: ErasureOut },
    errors: {
      404: notFound(UserNotFound),
      409: ['Nothing was changed', new UserNotErasable(['balance', 'orders']), RunningProxiesChanged],
    },
  })
  erase(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() { running_proxies: runningProxies, reason }: ErasureRequest,
  ): Promise<ErasureOut> {
    return this.erasure.erase(audit, userId, runningProxies, reason);
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
    // First scan the newest users, which is quick for common search terms. Then search all users through the
    // index, which is quick for rare ones; the array keeps the planner from scanning all users instead.
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
}
