import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import type { Money } from '../../common';
import { Act, asCsv, StaffBalanceService, StaffLog } from '../../staff';
import { parseAmount, parseId, parseMoment, parseText } from '../options';
import { answer, type ListOptions, show, toPage, withListOptions, withServices } from '../run';

interface PostingOptions {
  readonly user: number;
  readonly amount: Money;
  readonly reason: string;
  readonly reference?: string;
  readonly key?: string;
}

export function addBalance(cli: Command): void {
  const balance = cli.command('balance').description('Balances');

  for (const direction of ['credit', 'debit'] as const) {
    balance
      .command(direction)
      .requiredOption('--user <id>', 'whose', parseId)
      .requiredOption('--amount <roubles>', 'e.g. 500.00', parseAmount)
      .requiredOption('--reason <text>', 'kept with the entry', parseText)
      .option('--reference <text>', 'an invoice, a ticket', parseText)
      .option('--key <text>', 'with the same one it is done once, however often it is asked for')
      .action((options: PostingOptions) =>
        answer(async (app) => {
          const { user: userId, key, ...posting } = options;
          const act = Act.onCommandLine(`balance.${direction}`, { type: 'user', id: userId }, options);
          const change = { userId, ...posting };
          const { entry } = await app.get(StaffBalanceService).post(act, direction, change, key);
          return entry;
        }),
      );
  }

  withListOptions(balance.command('ledger'), 'seq')
    .description('Every change of a balance with what caused it, the last one first')
    .requiredOption('--user <id>', 'whose', parseId)
    .action((options: ListOptions & { user: number }) =>
      show('ledger.read', { type: 'user', id: options.user }, options, (app) =>
        app.get(StaffBalanceService).listEntries(options.user, toPage(options)),
      ),
    );

  balance
    .command('statement')
    .description('Every change of a balance in a period as CSV, the first one first')
    .requiredOption('--user <id>', 'whose', parseId)
    .requiredOption('--from <moment>', 'then or later, e.g. 2026-11-01T00:00:00Z', parseMoment)
    .requiredOption('--to <moment>', 'before', parseMoment)
    .action((options: { user: number; from: Date; to: Date }) =>
      withServices(async (app) => {
        const { user: userId, from, to } = options;
        const balances = app.get(StaffBalanceService);
        await balances.assertUser(userId);
        const act = Act.onCommandLine('ledger.statement', { type: 'user', id: userId }, options);
        await app.get(StaffLog).read(act);
        await pipeline(asCsv(balances.statement(userId, from, to)), process.stdout, { end: false });
      }),
    );
}
