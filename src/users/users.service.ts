import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { DataSource, type EntityManager, Repository } from 'typeorm';
import { Clock } from '../common';
import { batchedLookup, preparedRows, violatedConstraint } from '../database';
import { User } from './user.entity';
import { UserExists, UserNotFound } from './users.errors';

export interface NewUser {
  readonly username: string;
  readonly tgId?: number | null | undefined;
  readonly webUsername?: string | null | undefined;
  readonly hasApp?: boolean | undefined;
}

export interface Profile {
  /** The user's own name, or else the one that staff gave. */
  readonly username: string | null;
  readonly tgId: number | null;
  readonly webUsername: string | null;
  readonly hasApp: boolean;
  readonly balance: string;
}

@Injectable()
export class UsersService {
  constructor(
    private readonly dataSource: DataSource,
    @InjectRepository(User) private readonly users: Repository<User>,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates a user. A trigger opens their account.
   *
   * @throws UserExists if another user has this tg_id or web_username
   */
  async create(user: NewUser, manager: EntityManager = this.users.manager): Promise<User> {
    try {
      return await manager.save(
        manager.create(User, {
          username: user.username,
          tgId: user.tgId ?? null,
          webUsername: user.webUsername ?? null,
          hasApp: user.hasApp ?? false,
        }),
      );
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === 'users_tg_id_key') throw new UserExists('tg_id');
      if (constraint === 'users_web_username_key') throw new UserExists('web_username');
      throw error;
    }
  }

  /**
   * Blocks a user: all their tokens are refused from the next request on. Blocking again keeps the first time
   * and sets the new reason; null unblocks.
   *
   * @throws UserNotFound
   */
  async setBlocked(
    id: number,
    reason: string | null,
    manager: EntityManager,
  ): Promise<{ before: User; after: User }> {
    const before = await manager.findOne(User, { where: { id }, lock: { mode: 'for_no_key_update' } });
    if (!before) throw new UserNotFound();
    const blockedAt = reason === null ? null : (before.blockedAt ?? this.clock.now());
    const after = manager.create(User, before);
    Object.assign(after, { blockedAt, blockedReason: reason });
    await manager.update(User, { id }, { blockedAt, blockedReason: reason });
    return { before, after };
  }

  /**
   * Finds the user with an id on the messaging platform who just opened the companion application, and
   * records that, with their name there, if any. Blocked users are not changed.
   */
  async noteApp(
    { tgId, username }: { readonly tgId: number; readonly username: string | null },
    manager: EntityManager,
  ): Promise<Pick<User, 'id' | 'blockedAt'> | null> {
    const user = await manager.findOne(User, {
      where: { tgId },
      lock: { mode: 'for_no_key_update' },
    });
    if (!user || user.blockedAt) return user;
    const telegramUsername = username ?? user.telegramUsername;
    if (!user.hasApp || user.telegramUsername !== telegramUsername) {
      await manager.update(User, { id: user.id }, { hasApp: true, telegramUsername });
    }
    return user;
  }

  find(id: number): Promise<User | null> {
    return this.users.findOneBy({ id });
  }

  findByWebUsername(webUsername: string): Promise<User | null> {
    return this.users.findOneBy({ webUsername });
  }

  /** Reads the profile in one statement, so that the balance is consistent with the rest. */
  async getProfile(userId: number): Promise<Profile> {
    const profile = await this.profileOf(userId);
    if (!profile) throw new Error(`user ${userId} of a valid token has no account`);
    return profile;
  }

  private readonly profileOf = batchedLookup(async (userIds: readonly number[]) => {
    const profiles = await preparedRows<Profile & { id: number }>(
      this.dataSource,
      `SELECT u.id, coalesce(u.telegram_username, u.username) AS username, u.tg_id AS "tgId",
              u.web_username AS "webUsername", u.has_app AS "hasApp", a.available AS balance
         FROM users u JOIN accounts a ON a.user_id = u.id
        WHERE u.id = ANY ($1)`,
      [userIds],
    );
    return new Map(profiles.map((profile) => [profile.id, profile]));
  });
}
