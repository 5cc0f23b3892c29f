import type { Command } from 'commander';
import { Act, StaffUsersService } from '../../staff';
import { parseId, parseText } from '../options';
import { answer, type ListOptions, show, toPage, withListOptions } from '../run';

export function addUsers(cli: Command): void {
  const users = cli.command('users').description('Users');

  users
    .command('create')
    .requiredOption('--username <name>', 'name on the messaging platform', parseText)
    .option('--tg-id <number>', 'number on the messaging platform', parseId)
    .option('--web-username <name>', 'login on the website', parseText)
    .option('--has-app', 'has opened the companion application')
    .action((options: { username: string; tgId?: number; webUsername?: string; hasApp?: boolean }) =>
      answer((app) =>
        app.get(StaffUsersService).create(Act.onCommandLine('users.create', null, options), options),
      ),
    );

  for (const change of ['block', 'unblock'] as const) {
    users
      .command(change)
      .requiredOption('--user <id>', 'whom', parseId)
      .requiredOption('--reason <text>', 'kept in the log', parseText)
      .action((options: { user: number; reason: string }) =>
        answer((app) => {
          const act = Act.onCommandLine(`users.${change}`, { type: 'user', id: options.user }, options);
          return app.get(StaffUsersService)[change](act, options.user, options.reason);
        }),
      );
  }

  withListOptions(users.command('list'))
    .description('The newest first')
    .option('--query <part>', 'of a name or number, or a whole id', parseText)
    .action((options: ListOptions & { query?: string }) =>
      show('users.search', null, options, (app) =>
        app.get(StaffUsersService).search(options.query ?? null, toPage(options)),
      ),
    );

  users
    .command('show')
    .description('A user with their money')
    .requiredOption('--id <id>', 'of the user', parseId)
    .action(({ id }: { id: number }) =>
      show('users.read', { type: 'user', id }, { id }, (app) => app.get(StaffUsersService).getProfile(id)),
    );
}
