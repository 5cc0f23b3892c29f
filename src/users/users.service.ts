import { Injectable } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { DataSource, Repository } from 'typeorm';
import { queryRows, violatedConstraint } from '../database';
import { UserExists } from './users.errors';
import { User } from './user.entity';

export interface NewUser {
  readonly username: string;
  readonly tgId?: number | undefined;
  readonly webUsername?: string | undefined;
  readonly hasApp?: boolean | undefined;
}

/** A user with what they can spend, roubles. */
export interface Profile {
  readonly username: string | null;
  readonly tgId: number | null;
  readonly webUsername: string | null;
  readonly hasApp: boolean;
  readonly balance: string;
}

@Injectable()
export class UsersService {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @InjectRepository(User) private readonly users: Repository<User>,
  ) {}

  /**
   * The database opens the user's account with them.
   *
   * @throws UserExists when another user has this tg_id or web_username
   */
  async create(user: NewUser): Promise<User> {
    try {
      return await this.users.save(
        this.users.create({
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

  list(): Promise<User[]> {
    return this.users.find({ order: { id: 'ASC' } });
  }

  find(id: number): Promise<User | null> {
    return this.users.findOneBy({ id });
  }

  /** Read in one statement: the balance belongs to the same moment as the rest. */
  async getProfile(userId: number): Promise<Profile> {
    const [profile] = await queryRows<Profile>(
      this.dataSource,
      `SELECT u.username, u.tg_id AS "tgId", u.web_username AS "webUsername", u.has_app AS "hasApp", a.available AS balance
         FROM users u JOIN accounts a ON a.user_id = u.id
        WHERE u.id = $1`,
      [userId],
    );
    if (!profile) throw new Error(`user ${userId} of a valid token has no account`);
    return profile;
  }
}
