import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { queryRows } from '../database';
import { type NewUser, type User, UserNotFound, UsersService } from '../users';
import type { Act } from './act';
import { StaffLog } from './staff-log';

/** A user as staff see them. */
export interface UserRow {
  readonly id: number;
  readonly username: string | null;
  readonly tg_id: number | null;
  readonly web_username: string | null;
  readonly has_app: boolean;
  readonly created_at: Date;
  readonly blocked_at: Date | null;
  readonly blocked_reason: string | null;
}

/** With their money, roubles. */
export interface UserProfileRow extends UserRow {
  readonly balance: string;
  readonly held: string;
  readonly spent_today: string;
  readonly spent_30_days: string;
  readonly spent_total: string;
  readonly open_orders: number;
  readonly last_order_at: Date | null;
}

const COLUMNS = `users.id, username, tg_id, web_username, has_app, users.created_at, blocked_at, blocked_reason`;

/** Shorter ones have no trigram but at their beginning. */
const SHORTEST_PART = 3;
/** Users that are looked through one by one. */
const NEWEST = 5000;

const toUserRow = (user: User): UserRow => ({
  id: user.id,
  username: user.username,
  tg_id: user.tgId,
  web_username: user.webUsername,
  has_app: user.hasApp,
  created_at: user.createdAt,
  blocked_at: user.blockedAt,
  blocked_reason: user.blockedReason,
});

/** What staff do with users, over HTTP and on the command line. */
@Injectable()
export class StaffUsersService {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly users: UsersService,
    private readonly log: StaffLog,
  ) {}

  /** @throws UserExists */
  create(act: Act, user: NewUser): Promise<UserRow> {
    return this.log.change(act, async (manager, record) => {
      const after = toUserRow(await this.users.create(user, manager));
      await record({ target: { type: 'user', id: after.id }, after });
      return after;
    });
  }

  /** @throws UserNotFound */
  block(act: Act, userId: number, reason: string): Promise<UserRow> {
    return this.setBlocked(act, userId, reason, true);
  }

  /** @throws UserNotFound */
  unblock(act: Act, userId: number, reason: string): Promise<UserRow> {
    return this.setBlocked(act, userId, reason, false);
  }

  private setBlocked(act: Act, userId: number, reason: string, isBlocked: boolean): Promise<UserRow> {
    return this.log.change(act, async (manager, record) => {
      const { before, after } = await this.users.setBlocked(userId, isBlocked ? reason : null, manager);
      await record({ reason, before: toUserRow(before), after: toUserRow(after) });
      return toUserRow(after);
    });
  }

  /**
   * A page of users, newest first.
   *
   * @param part of a username or a web_username in any case, of a tg_id, or a whole id; one of less than three characters counts at
   *   the beginning alone; null: all users
   * @param cursor the id of the last user of the page before
   */
  async search(
    part: string | null,
    { cursor, limit }: { cursor: number | null; limit: number },
  ): Promise<UserRow[]> {
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
    const fits = `(username ILIKE $2 OR web_username ILIKE $2 OR tg_id::text ILIKE $2 ${id === null ? '' : 'OR id = $4'})`;
    const parameters = [before, pattern, limit, ...(id === null ? [] : [id])];
    // What many have is soon found among the newest; what few have, by the index. Which it is, the planner does not know when it
    // is only old users who have it, and would read all of them.
    const found = await queryRows<UserRow>(
      this.dataSource,
      `SELECT ${COLUMNS} FROM (SELECT * FROM users WHERE id < $1 ORDER BY id DESC LIMIT ${NEWEST}) AS users
        WHERE ${fits} ORDER BY id DESC LIMIT $3`,
      parameters,
    );
    if (found.length === limit) return found;
    return queryRows(
      this.dataSource,
      `SELECT ${COLUMNS} FROM users WHERE id = ANY (ARRAY(SELECT id FROM users WHERE id < $1 AND ${fits})) ORDER BY id DESC LIMIT $3`,
      parameters,
    );
  }

  /** @throws UserNotFound */
  async getProfile(userId: number): Promise<UserProfileRow> {
    const [profile] = await queryRows<UserProfileRow>(
      this.dataSource,
      `SELECT ${COLUMNS}, available AS balance, held, spent AS spent_total, spending.*,
              (SELECT count(*) FROM orders
                WHERE orders.user_id = users.id AND state IN ('reserved', 'submitting', 'confirming', 'review')) AS open_orders,
              (SELECT max(orders.created_at) FROM orders WHERE orders.user_id = users.id) AS last_order_at
         FROM users JOIN accounts ON accounts.user_id = users.id,
              LATERAL (SELECT coalesce(sum(amount) FILTER (WHERE spent_at >= current_date), 0)::numeric(14,2) AS spent_today,
                              coalesce(sum(amount), 0)::numeric(14,2) AS spent_30_days
                         FROM (SELECT entry.created_at AS spent_at,
                                      CASE kind WHEN 'capture' THEN -held_delta ELSE -available_delta END AS amount
                                 FROM ledger_entries entry
                                WHERE entry.user_id = users.id AND entry.created_at >= now() - interval '30 days'
                                  AND kind IN ('capture', 'refund')) AS lately) AS spending
        WHERE users.id = $1`,
      [userId],
    );
    if (!profile) throw new UserNotFound();
    return profile;
  }
}
