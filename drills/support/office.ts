import { type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { AdministrationModule } from '../../src/administration.module';
import { ALL_SCOPES, type Scope, TokensService } from '../../src/auth';
import { Money } from '../../src/common';
import { AppConfig, readEnvironment, resolveConfig } from '../../src/config';
import { IntegrityService } from '../../src/integrity';
import { LedgerService } from '../../src/ledger';
import { PaymentProvider } from '../../src/payments';
import { UsersService } from '../../src/users';
import type { Customer } from './clients';
import { until } from './until';

export class Office {
  private constructor(readonly context: INestApplicationContext) {}

  static async open(environment: Readonly<Record<string, string>>): Promise<Office> {
    const { DATABASE_URL: url = '', PX6_BASE_URL: baseUrl = '', PX6_API_KEY: apiKey = '' } = environment;
    const config = resolveConfig(readEnvironment(environment), url, { baseUrl, apiKey });
    const module = AdministrationModule.with(config);
    return new Office(await NestFactory.createApplicationContext(module, { logger: false }));
  }

  close(): Promise<void> {
    return this.context.close();
  }

  get dataSource(): DataSource {
    return this.context.get(DataSource);
  }

  query<Row>(statement: string, parameters: unknown[] = []): Promise<Row[]> {
    return this.dataSource.query(statement, parameters);
  }

  async untilSwept(): Promise<void> {
    const [{ now } = { now: new Date() }] = await this.query<{ now: Date }>(
      'SELECT clock_timestamp() AS now',
    );
    const sweeps = 'SELECT FROM completed_sweeps WHERE began_at >= $1';
    await until('a sweep', async () => (await this.query(sweeps, [now])).length > 0, { timeoutMs: 120_000 });
  }

  async createCustomer(balance: string, scopes: readonly Scope[] = ALL_SCOPES): Promise<Customer> {
    const { id } = await this.context.get(UsersService).create({ username: 'test' });
    await this.context.get(LedgerService).credit(id, Money.parse(balance), 'test');
    const { text } = await this.context.get(TokensService).issue({ userId: id, scopes });
    return { id, token: text };
  }

  async findViolations({ withProvider = true } = {}): Promise<string[]> {
    const acceptsPayments = this.context.get<unknown, AppConfig>(AppConfig).payments.provider !== 'off';
    const { invariants } = await this.context.get(IntegrityService).run({
      withProvider,
      ...(acceptsPayments && { payments: this.context.get(PaymentProvider, { strict: false }) }),
    });
    return invariants
      .filter(({ violations }) => violations > 0)
      .map(({ name, violations, rows }) => `${name}: ${violations}: ${JSON.stringify(rows)}`);
  }
}
