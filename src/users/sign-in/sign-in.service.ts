import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import {
  type CreatedToken,
  type CustomerScope,
  CustomerTokensService,
  isCustomerScope,
  isPaymentScope,
  TokensService,
  UserBlocked,
} from '../../auth';
import { Clock, ConcurrencyLimit } from '../../common';
import { AppConfig, EnvironmentError } from '../../config';
import { inTransaction } from '../../database';
import { UsersService } from '../users.service';
import { readInitData, type TelegramUser } from './init-data';
import { NoAccount, SignInDisabled } from './sign-in.errors';

/** Maximum age of `initData`. Even stolen data works until then. */
const MAX_AGE_SECONDS = 3600;
/** Short, because the app signs in again whenever it is opened. */
const TOKEN_MINUTES = 60;
/** Maximum number of sign-in tokens per user. A further sign-in revokes the oldest token. */
const MOST_SIGN_INS = 10;

@Injectable()
export class SignInService {
  private readonly scopes: readonly CustomerScope[];
  /** Runs one sign-in at a time per Telegram user, so that waiting sign-ins occupy no database connection. */
  private readonly turns = new ConcurrencyLimit<number>(Infinity, 1);

  /** @throws EnvironmentError if the operator configured scopes that customers cannot have */
  constructor(
    private readonly dataSource: DataSource,
    private readonly users: UsersService,
    private readonly tokens: TokensService,
    private readonly customerTokens: CustomerTokensService,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {
    const { scopes } = config.telegram;
    this.scopes = scopes.filter(isCustomerScope);
    if (this.scopes.length < scopes.length) {
      throw new EnvironmentError(["TELEGRAM_SCOPES must be customers' scopes, e.g. profile:read"]);
    }
    const ofPayments = scopes.filter(isPaymentScope);
    if (config.payments.provider === 'off' && ofPayments.length > 0) {
      throw new EnvironmentError([
        `TELEGRAM_SCOPES must not contain ${ofPayments.join(', ')}: the service does not accept payments`,
      ]);
    }
  }

  /** @throws SignInDisabled, InvalidInitData, InitDataTooOld */
  read(initData: string): TelegramUser {
    const { botToken } = this.config.telegram;
    const maxAgeSeconds = this.config.tuning.signInMaxAgeSeconds ?? MAX_AGE_SECONDS;
    if (botToken === undefined) throw new SignInDisabled();
    return readInitData(initData, { botToken, maxAgeSeconds, now: this.clock.now() });
  }

  /** @throws NoAccount, UserBlocked */
  signIn(telegramUser: TelegramUser): Promise<{ userId: number; token: CreatedToken }> {
    const tokenMinutes = this.config.tuning.signInTokenMinutes ?? TOKEN_MINUTES;
    const transaction = () =>
      inTransaction(this.dataSource, async (manager) => {
        // Locks the user, which serializes that user's sign-ins.
        const user = await this.users.recordApp(telegramUser, manager);
        if (!user) throw new NoAccount();
        if (user.blockedAt) throw new UserBlocked();
        await this.makeRoom(user.id, manager);
        const { text, token } = await this.tokens.issue(
          {
            userId: user.id,
            scopes: this.scopes,
            name: 'Telegram',
            expiresAt: new Date(this.clock.now().getTime() + tokenMinutes * 60_000),
            origin: 'sign-in',
          },
          manager,
        );
        return { userId: user.id, token: await this.customerTokens.created(token.id, text, manager) };
      });
    return this.turns.run(telegramUser.tgId, transaction);
  }

  private async makeRoom(userId: number, manager: EntityManager): Promise<void> {
    await this.tokens.forgetInvalid({ userId, origin: 'sign-in', keep: 0 }, manager);
    await this.tokens.revokeOldest({ userId, origin: 'sign-in', keep: MOST_SIGN_INS - 1 }, manager);
  }
}
