import type { Command } from 'commander';
import type { Scope } from '../../auth';
import type { Money } from '../../common';
import { Act, StaffTokensService } from '../../staff';
import {
  parseAmountAboveZero,
  parseDurationMs,
  parseId,
  parseNetworks,
  parseScopes,
  parseText,
} from '../options';
import { answer, LONGEST_LIST, show } from '../run';

interface TokenOptions {
  readonly user: number;
  readonly scopes: Scope[];
  readonly name?: string;
  readonly expiresIn?: number;
  readonly allowedIps?: string[];
  readonly dailyLimit?: Money;
}

export function addTokens(cli: Command): void {
  const tokens = cli.command('tokens').description('API tokens');

  tokens
    .command('create')
    .requiredOption('--user <id>', 'whose', parseId)
    .requiredOption(
      '--scopes <list>',
      'separated by commas; all: those of customers, staff: those of staff',
      parseScopes,
    )
    .option('--name <name>', 'what it is for', parseText)
    .option('--expires-in <duration>', 'e.g. 90m, 12h, 30d', parseDurationMs)
    .option('--allowed-ips <list>', 'networks in CIDR notation, separated by commas', parseNetworks)
    .option('--daily-limit <roubles>', 'what its orders may take in a day of UTC', parseAmountAboveZero)
    .action((options: TokenOptions) =>
      answer((app) => {
        const { user: userId, expiresIn, ...token } = options;
        const act = Act.onCommandLine('tokens.create', { type: 'user', id: userId }, options);
        const expiresAt = expiresIn === undefined ? undefined : new Date(Date.now() + expiresIn);
        return app.get(StaffTokensService).issue(act, { userId, expiresAt, ...token });
      }),
    );

  tokens
    .command('list')
    .requiredOption('--user <id>', 'whose', parseId)
    .option('--after <id>', 'newer ones only: the next page', parseId)
    .action((options: { user: number; after?: number }) =>
      show('tokens.list', { type: 'user', id: options.user }, options, (app) =>
        app
          .get(StaffTokensService)
          .list(options.user, { cursor: options.after ?? null, limit: LONGEST_LIST }),
      ),
    );

  tokens
    .command('revoke')
    .requiredOption('--id <id>', 'of the token', parseId)
    .option('--reason <text>', 'kept in the log', parseText)
    .action(({ id, reason }: { id: number; reason?: string }) =>
      answer((app) => {
        const act = Act.onCommandLine('tokens.revoke', { type: 'token', id }, { id, reason });
        return app.get(StaffTokensService).revoke(act, id, reason);
      }),
    );
}
