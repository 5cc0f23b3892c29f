import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { eventually } from '../../test/support/built-service';
import { beforeClosing, forAllTests } from '../../test/support/fixtures';
import { captureLog } from '../../test/support/log-capture';
import { connectAsOwner, connectTo, createTestDatabase } from '../../test/support/test-database';
import { AppLogger } from '../common';
import { queryRows } from '../database';
import { ProviderAccount } from './provider-account';

describe('ProviderAccount', () => {
  const accounts: ProviderAccount[] = [];
  const log = forAllTests(captureLog);
  beforeAll(() => Logger.overrideLogger(new AppLogger({ level: 'debug', format: 'json' })));
  const database = forAllTests(createTestDatabase);
  const dataSource = forAllTests(() => connectTo(database.url, 4));
  beforeClosing(() => accounts.forEach((account) => account.onModuleDestroy()));

  const createAccount = (provider: string, from: DataSource = dataSource): ProviderAccount => {
    const account = new ProviderAccount(from, provider, '1000.00');
    accounts.push(account);
    return account;
  };

  const stored = async (provider: string) =>
    (
      await queryRows<{ balance: string; isLow: boolean }>(
        dataSource,
        `SELECT trim_scale(balance)::text AS balance, is_low AS "isLow"
           FROM provider_accounts WHERE provider = $1`,
        [provider],
      )
    )[0];

  it('knows the balance again after a restart', async () => {
    createAccount('restarted').update('1234.56');
    await eventually(async () => (await stored('restarted'))?.balance === '1234.56');
    const next = createAccount('restarted');
    await next.onModuleInit();
    expect(Number(next.balance())).toBe(1234.56);
  });

  it('logs that the balance is low, and that it no longer is, once for all replicas', async () => {
    const earlier = log.lines.length;
    const replicas = Array.from({ length: 4 }, () => createAccount('shared'));
    for (const account of replicas) account.update('999.99');
    await eventually(async () => (await stored('shared'))?.isLow);
    for (const account of replicas) account.update('5.00');
    await eventually(async () => (await stored('shared'))?.balance === '5');
    for (const account of replicas) account.update('1000.00');
    await eventually(async () => (await stored('shared'))?.isLow === false);
    for (const account of replicas) account.update('1000.01');
    await eventually(async () => (await stored('shared'))?.balance === '1000.01');
    const logged = log.lines
      .slice(earlier)
      .map((line) => JSON.parse(line))
      .filter(({ level }) => level !== 'debug');
    expect(logged.map(({ level, message }) => [level, message])).toEqual([
      ['warn', expect.stringContaining('low: 999.99 roubles')],
      ['log', expect.stringContaining('no longer low: 1000.00 roubles')],
    ]);
  });

  it('stores the balance once it can be stored', async () => {
    const owner = await connectAsOwner(database);
    await owner.query('ALTER TABLE provider_accounts RENAME TO gone');
    createAccount('retried').update('12.00');
    await eventually(() => log.lines.some((line) => line.includes('was not stored')));
    await owner.query('ALTER TABLE gone RENAME TO provider_accounts');
    await owner.destroy();
    await eventually(async () => (await stored('retried'))?.balance === '12');
  });

  it('throws nothing when the balance cannot be stored', async () => {
    const account = createAccount('lost', new DataSource({ type: 'postgres' }));
    await account.onModuleInit();
    expect(account.balance()).toBeNull();
    account.update('12.00');
    expect(account.balance()).toBe('12.00');
  });
});
