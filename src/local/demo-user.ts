import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { ALL_SCOPES, TokensService } from '../auth';
import { Money } from '../common';
import { LedgerService } from '../ledger';
import { ProxiesService } from '../proxies';
import { UsersService } from '../users';

export interface Demo {
  readonly token: string;
  /** A proxy of the demo user, when there is one already. */
  readonly proxyId: string | undefined;
}

const DEMO_BALANCE = Money.parse('10000.00');

/**
 * A user with money to try the service with, for the embedded default alone. Their token is kept beside the database, so that the
 * next start can show it again.
 */
export async function provideDemo(app: INestApplicationContext, dataDir: string): Promise<Demo> {
  const tokens = app.get(TokensService);
  const proxies = app.get(ProxiesService);
  const file = join(dataDir, 'demo-token');
  const kept = await readFile(file, 'utf8').catch(() => '');
  const caller = await tokens.findCaller(kept);
  if (caller) return { token: kept, proxyId: await proxies.findActiveId(caller.userId) };

  const users = app.get(UsersService);
  const existing = await users.findByWebUsername('demo');
  const user = existing ?? (await users.create({ username: 'demo', webUsername: 'demo' }));
  if (!existing) await app.get(LedgerService).credit(user.id, DEMO_BALANCE, 'demo');
  const { text } = await tokens.issue({ userId: user.id, scopes: ALL_SCOPES, name: 'demo' });
  await writeFile(file, text, { mode: 0o600 });
  return { token: text, proxyId: await proxies.findActiveId(user.id) };
}

/** What to try first, each line fit to be pasted. */
export function tour(baseUrl: string, { token, proxyId = '1' }: Demo): string {
  const auth = `-H 'Authorization: Bearer ${token}'`;
  const json = `-H 'Content-Type: application/json'`;
  const line = (name: string, command: string) => `${name.padEnd(14)}${command}`;
  return [
    line('Listening on', baseUrl),
    line('Docs', `${baseUrl}/docs`),
    line('Demo token', token),
    '',
    line('Countries', `curl ${auth} '${baseUrl}/countries?version=6'`),
    line('Quote', `curl ${auth} '${baseUrl}/price?version=6&period=30&count=2'`),
    line(
      'Buy',
      `curl ${auth} ${json} -H "Idempotency-Key: $(date +%s%N)" ${baseUrl}/proxies/buy -d '{"country":"ru","period":30,"count":2}'`,
    ),
    line('List', `curl ${auth} ${baseUrl}/proxies`),
    line('Ping', `curl ${auth} ${baseUrl}/proxies/${proxyId}/ping`),
    line('Prolong', `curl ${auth} ${json} ${baseUrl}/proxies/${proxyId}/prolong -d '{"period":30}'`),
    line('Export', `curl ${auth} '${baseUrl}/proxies/export?format=txt'`),
    '',
  ].join('\n');
}
