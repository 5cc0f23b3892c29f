import { Injectable, Logger } from '@nestjs/common';
import { messageOf } from '../../common';
import { AppConfig, readApiKeyFile } from '../../config';
import { ProviderRefused } from '../provider-errors';

/** How long until a refused key is tried again, because it may not have been active yet. */
const TRY_AGAIN_MS = 60_000;

class KeyNotUsable extends Error {}

/** A new key must belong to the same account, because another account's listings lack our orders. */
@Injectable()
export class ApiKey {
  private readonly logger = new Logger(ApiKey.name);
  private text: string;
  /** The provider's id of our account. */
  private account: string | undefined;
  private rejected: { readonly text: string; readonly atMs: number } | undefined;
  private complaint: string | undefined;

  constructor(private readonly config: AppConfig) {
    this.text = config.provider.apiKey;
  }

  /** Every URL contains the key, so no URL may reach a log. */
  get current(): string {
    return this.text;
  }

  recordAccount(id: string): void {
    this.account ??= id;
  }

  /** Never rejects. @returns whether the key has changed */
  async follow(accountOf: (key: string) => Promise<string>): Promise<boolean> {
    const { apiKeyFile } = this.config.provider;
    if (apiKeyFile === undefined) return false;
    try {
      const candidate = await readApiKeyFile(apiKeyFile).catch((error: unknown) => {
        throw new KeyNotUsable(messageOf(error));
      });
      if (candidate !== this.text && this.mayTry(candidate)) {
        await this.verify(candidate, accountOf);
        this.text = candidate;
        this.logger.log('now using the new provider key (PX6_API_KEY_FILE)');
        return true;
      }
      if (candidate === this.text) this.complaint = undefined;
    } catch (error) {
      if (error instanceof KeyNotUsable) this.complain(error.message);
      else this.logger.debug(`a new key in PX6_API_KEY_FILE was not tried: ${messageOf(error)}`);
    }
    return false;
  }

  private mayTry(candidate: string): boolean {
    const { text, atMs = 0 } = this.rejected ?? {};
    return text !== candidate || performance.now() - atMs > TRY_AGAIN_MS;
  }

  private async verify(candidate: string, accountOf: (key: string) => Promise<string>): Promise<void> {
    const reject = (why: string): never => {
      this.rejected = { text: candidate, atMs: performance.now() };
      throw new KeyNotUsable(why);
    };
    const account = await accountOf(candidate).catch((error: unknown) => {
      if (error instanceof ProviderRefused) reject('the provider rejects the key in PX6_API_KEY_FILE');
      throw error;
    });
    this.account ??= account;
    if (account !== this.account) reject('the key in PX6_API_KEY_FILE belongs to another account');
  }

  private complain(why: string): void {
    if (why === this.complaint) return;
    this.complaint = why;
    this.logger.error(`${why}: the previous key stays in use`);
  }
}
