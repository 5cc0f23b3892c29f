import { Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { compareDecimals, messageOf } from '../common';
import { queryRows } from '../database';

const STORED_AT_MOST_EVERY_MS = 1000;
/** Interval at which an unchanged balance is stored again: other replicas may have stored an older one. */
const STORED_AGAIN_AFTER_MS = 60_000;

/** Tracks our balance at the provider. Stores it in the background, without delaying or failing calls. */
export class ProviderAccount implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger(ProviderAccount.name);
  /** Roubles; `null` before the first response. */
  private known: string | null = null;
  private knownSinceMs = -Infinity;
  /** The smallest cost refused since the balance became known. The balance is below this cost. */
  private refusedCost: string | null = null;
  private storedAmount: string | undefined;
  private storedAtMs = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(
    private readonly dataSource: DataSource,
    private readonly provider: string,
    private readonly lowBalance: string,
  ) {}

  onModuleInit(): Promise<void> {
    return this.followStore();
  }

  onModuleDestroy(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  balance(): string | null {
    return this.known;
  }

  /** Returns the maximum total cost of orders; `null` if unknown. */
  spendable(): string | null {
    const { known, refusedCost } = this;
    if (refusedCost === null) return known;
    return known !== null && compareDecimals(known, refusedCost) < 0 ? known : refusedCost;
  }

  /** Whether the balance covers a cost. True if the balance is unknown, because the provider then decides. */
  covers(cost: string): boolean {
    if (this.refusedCost !== null && compareDecimals(cost, this.refusedCost) >= 0) return false;
    return this.known === null || compareDecimals(this.known, cost) >= 0;
  }

  recordRefusal(cost: string): void {
    if (!this.covers(cost)) return;
    this.refusedCost = cost;
    this.knownSinceMs = performance.now();
  }

  /** Applies a newer balance from another replica. Ignores database failures. */
  async followStore(): Promise<void> {
    const requestedAtMs = performance.now();
    const [stored] = await queryRows<{ amount: string; ageMs: number }>(
      this.dataSource,
      `SELECT balance::text AS amount,
              extract(epoch FROM clock_timestamp() - seen_at)::float8 * 1000 AS "ageMs"
         FROM provider_accounts WHERE provider = $1`,
      [this.provider],
    ).catch(() => []);
    if (!stored || requestedAtMs - stored.ageMs <= this.knownSinceMs) return;
    this.know(stored.amount, requestedAtMs - stored.ageMs);
  }

  update(amount: string): void {
    this.know(amount, performance.now());
    const sinceStoredMs = performance.now() - this.storedAtMs;
    const isStored = amount === this.storedAmount && sinceStoredMs < STORED_AGAIN_AFTER_MS;
    if (!isStored) this.storeAfter(Math.max(0, STORED_AT_MOST_EVERY_MS - sinceStoredMs));
  }

  private storeAfter(waitMs: number): void {
    if (this.timer || this.isClosed) return;
    this.timer = setTimeout(() => void this.store(), waitMs).unref();
  }

  private know(amount: string, sinceMs: number): void {
    this.known = amount;
    this.knownSinceMs = sinceMs;
    this.refusedCost = null;
  }

  private async store(): Promise<void> {
    this.timer = undefined;
    const amount = this.known;
    if (amount === null) return;
    this.storedAtMs = performance.now();
    try {
      const { wasLow, isLow } = await this.write(amount);
      this.storedAmount = amount;
      if (isLow && !wasLow) {
        this.logger.warn(
          `the balance at the provider is low: ${amount} roubles, ` +
            `less than ${this.lowBalance} (PROVIDER_LOW_BALANCE)`,
        );
      } else if (wasLow && !isLow) {
        this.logger.log(`the balance at the provider is no longer low: ${amount} roubles`);
      }
    } catch (error) {
      this.logger.debug(`the balance at the provider was not stored: ${messageOf(error)}`);
      // Retry soon, because the next call, which would store the balance, may be hours away.
      this.storeAfter(STORED_AT_MOST_EVERY_MS);
    }
  }

  /** The row lock ensures that only one replica sees `is_low` change and logs it. */
  private async write(amount: string): Promise<{ wasLow: boolean; isLow: boolean }> {
    const [written] = await queryRows<{ wasLow: boolean; isLow: boolean }>(
      this.dataSource,
      `WITH before AS MATERIALIZED (SELECT is_low FROM provider_accounts WHERE provider = $1 FOR UPDATE)
       UPDATE provider_accounts account
          SET balance = $2::numeric, seen_at = clock_timestamp(), is_low = $2::numeric < $3::numeric
         FROM before WHERE account.provider = $1
       RETURNING before.is_low AS "wasLow", account.is_low AS "isLow"`,
      [this.provider, amount, this.lowBalance],
    );
    if (written) return written;
    await queryRows(
      this.dataSource,
      `INSERT INTO provider_accounts (provider, balance, seen_at) VALUES ($1, $2, clock_timestamp())
       ON CONFLICT DO NOTHING`,
      [this.provider, amount],
    );
    return this.write(amount);
  }
}
