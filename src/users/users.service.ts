import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Clock } from '../common';
import {
  batchedLookup,
  preparedRows,
  type Queryable,
  queryRow,
  queryRows,
  selectList,
  violatedConstraint,
} from '../database';
import type { User } from './user';
import type { UserInfo } from './user-info.dto';
import { UserExists, UserNotFound } from './users.errors';

export interface NewUser {
  readonly username: string;
  readonly tgId?: number | null | undefined;
  readonly webUsername?: string | null | undefined;
  readonly hasApp?: boolean | undefined;
}

const FIELDS =
  'id username telegramUsername tgId webUsername hasApp createdAt blockedAt blockedReason deletedAt';
const COLUMNS = selectList(FIELDS.split(' '));

@Injectable()
export class UsersService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates a user. A trigger opens the user's account.
   * @throws UserExists if another user has this tg_id or web_username
   */
  async create(
    { username, tgId = null, webUsername = null, hasApp = false }: NewUser,
    queryable: Queryable = this.dataSource,
  ): Promise<User> {
    try {
      return await queryRow<User>(
        queryable,
        `INSERT INTO users (username, tg_id, web_username, has_app) VALUES ($1, $2, $3, $4)
         RETURNING ${COLUMNS}`,
        [username, tgId, webUsername, hasApp],
      );
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === 'users_tg_id_key') throw new UserExists('tg_id');
      if (constraint === 'users_web_username_key') throw new UserExists('web_username');
      throw error;
    }
  }

  /** Blocks a user, keeping the time of an earlier block. A null `reason` unblocks. @throws UserNotFound */
  async setBlocked(
    id: number,
    reason: string | null,
    manager: EntityManager,
  ): Promise<{ before: User; after: User }> {
    const before = await this.findBy('id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE', id, manager);
    if (!before) throw new UserNotFound();
    const blockedAt = reason === null ? null : (before.blockedAt ?? this.clock.now());
    await manager.query('UPDATE users SET blocked_at = $2, blocked_reason = $3 WHERE id = $1', [
      id,
      blockedAt,
      reason,
    ]);
    const after = { ...before, blockedAt, blockedReason: reason };
    return { before, after };
  }

  /** Finds the user who opened the Mini App and, unless they are blocked, records the use. */
  async recordApp(
    { tgId, username }: { readonly tgId: number; readonly username: string | null },
    manager: EntityManager,
  ): Promise<Pick<User, 'id' | 'blockedAt'> | null> {
    const user = await this.findBy('tg_id = $1 FOR NO KEY UPDATE', tgId, manager);
    if (!user || user.blockedAt) return user;
    const telegramUsername = username ?? user.telegramUsername;
    if (!user.hasApp || user.telegramUsername !== telegramUsername) {
      await manager.query('UPDATE users SET has_app = true, telegram_username = $2 WHERE id = $1', [
        user.id,
        telegramUsername,
      ]);
    }
    return user;
  }

  find(id: number): Promise<User | null> {
    return this.findBy('id = $1', id);
  }

  /** @throws UserNotFound */
  async assertExists(id: number): Promise<void> {
    if (!(await this.find(id))) throw new UserNotFound();
  }

  findByWebUsername(webUsername: string): Promise<User | null> {
    return this.findBy('web_username = $1', webUsername);
  }

  private async findBy(
    condition: string,
    value: unknown,
    queryable: Queryable = this.dataSource,
  ): Promise<User | null> {
    const [user] = await queryRows<User>(queryable, `SELECT ${COLUMNS} FROM users WHERE ${condition}`, [
      value,
    ]);
    return user ?? null;
  }

  /** Returns the profile. A Telegram username overrides the name that staff entered. */
  async getProfile(userId: number): Promise<UserInfo> {
    const profile = await this.profileOf(userId);
    if (!profile) throw new Error(`user ${userId} of a valid token has no account`);
    return profile;
  }

  private readonly profileOf = batchedLookup(async (userIds: readonly number[]) => {
    const profiles = await preparedRows<UserInfo & { id: number }>(
      this.dataSource,
      `SELECT u.id, u.tg_id, coalesce(u.telegram_username, u.username) AS username, u.web_username,
              a.available AS balance, u.has_app
         FROM users u JOIN accounts a ON a.user_id = u.id
        WHERE u.id = ANY ($1)`,
      [userIds],
    );
    return new Map(profiles.map(({ id, ...profile }) => [id, profile]));
  });
}
