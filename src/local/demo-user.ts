import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { ALL_PAYMENT_SCOPES, TokensService, USUAL_SCOPES } from '../auth';
import { Money } from '../common';
import { AppConfig } from '../config';
import { LedgerService } from '../ledger';
import { ProxiesService, type Proxy } from '../proxies';
import { UsersService } from '../users';

export interface DemoUser {
  readonly token: string;
  readonly proxy: Proxy | null;
  readonly takesPayments: boolean;
}

const DEMO_BALANCE = Money.parse('10000.00');

/** Stores the token in the data directory, so that the next start can print it again. */
export async function provideDemo(app: INestApplicationContext, dataDir: string): Promise<DemoUser> {
  const tokens = app.get(TokensService);
  const proxies = app.get(ProxiesService);
  const file = join(dataDir, 'demo-token');
  const stored = await readFile(file, 'utf8').catch(() => '');
  const caller = await tokens.findCaller(stored);
  const takesPayments = app.get<unknown, AppConfig>(AppConfig).payments.provider !== 'off';
  const scopes = takesPayments ? [...USUAL_SCOPES, ...ALL_PAYMENT_SCOPES] : USUAL_SCOPES;
  // A token from an earlier version may lack newer scopes, and is then replaced.
  if (caller && scopes.every((scope) => caller.scopes.includes(scope))) {
    return { token: stored, proxy: await proxies.findActive(caller.userId), takesPayments };
  }

  const users = app.get(UsersService);
  const existing = await users.findByWebUsername('demo');
  const user = existing ?? (await users.create({ username: 'demo', webUsername: 'demo' }));
  if (!existing) await app.get(LedgerService).credit(user.id, DEMO_BALANCE, 'demo');
  const { text } = await tokens.issue({ userId: user.id, scopes, name: 'demo' });
  await writeFile(file, text, { mode: 0o600 });
  return { token: text, proxy: await proxies.findActive(user.id), takesPayments };
}

/** The commands have fixed idempotency keys, so that repeating a command charges nothing. */
export function demoInstructions(baseUrl: string, { token, proxy, takesPayments }: DemoUser): string {
  const curl = `curl -H 'Authorization: Bearer ${token}'`;
  const json = `-H 'Content-Type: application/json'`;
  const keyed = (key: string) => `${curl} ${json} -H 'Idempotency-Key: ${key}'`;
  const proxyId = proxy?.id ?? 1;
  const proxyPath = `${baseUrl}/proxies/${proxyId}`;
  const purchase = '{"country":"ru","period":30,"count":2,"max_price":60}';
  return [
    ['Listening on', baseUrl],
    ['Docs', `${baseUrl}/docs`],
    ['Staff docs', `${baseUrl}/staff/docs`],
    ['Demo token', token],
    [],
    ['Countries', `${curl} '${baseUrl}/countries?version=6'`],
    ['Quote', `${curl} '${baseUrl}/price?version=6&period=30&count=2'`],
    ['Buy', `${keyed('first-order')} ${baseUrl}/proxies/buy -d '${purchase}'`],
    ['List', `${curl} ${baseUrl}/proxies`],
    ['Ping', `${curl} ${proxyPath}/ping`],
    ['Use', `${curl} -s '${baseUrl}/proxies/lists/curl' | curl -K - ${baseUrl}/`],
    ['Prolong', `${keyed(`prolong-${proxyId}`)} ${proxyPath}/prolong -d '{"period":30,"max_price":30}'`],
    ['Export', `${curl} '${baseUrl}/proxies/export?format=txt'`],
    ...(takesPayments ? [['Top up', `${keyed('top-up')} ${baseUrl}/deposits -d '{"amount":"500.00"}'`]] : []),
    [],
    [
      '',
      'Running a command again with the same Idempotency-Key charges nothing. A new order needs a new key.',
    ],
    [],
  ]
    .map(([name = '', text = '']) => `${name.padEnd(14)}${text}`.trimEnd())
    .join('\n');
}
