import { migrate } from '../database';
import { IntegrityService } from '../integrity';
import { PaymentProvider } from '../payments';
import { AuditContext, StaffSystemService } from '../staff';
import { DEFAULT_SKIPPED_IDS } from '../sync';
import { parseId, parseText } from './options';
import { printError } from './outline';
import type { AddCommand } from './route-command';
import { getFromPayments, print, withResources, withServices } from './run';

interface AuditGiven {
  readonly provider?: boolean;
  readonly payments?: boolean;
  readonly day?: boolean;
}

export const addAudit: AddCommand = (cli) => {
  cli
    .command('audit')
    .description('Checks the books against every invariant. Exits with 1 if one is violated.')
    .option('--day', 'check only changes since the start of yesterday (UTC)')
    .option('--provider', 'also compare the books with everything that the provider lists')
    .option('--payments', 'also compare the books with all payments and refunds at the payment provider')
    .action(({ provider = false, payments = false, day = false }: AuditGiven) =>
      withServices(
        async (app) => {
          const report = await app.get(IntegrityService).run({
            scope: day ? 'day' : 'all',
            withProvider: provider,
            ...(payments && { payments: getFromPayments(app, PaymentProvider) }),
          });
          if (!report.ok) {
            process.exitCode = 1;
            const violated = report.invariants.filter(({ violations }) => violations > 0);
            printError(
              `Broken: ${violated.map(({ name, violations }) => `${name} (${violations})`).join(', ')}`,
            );
          }
          await print(report);
        },
        { provider: provider || payments },
      ),
    );
};

export const addMigrate: AddCommand = (cli) => {
  cli
    .command('migrate')
    .description('Applies pending migrations and prints them.')
    .action(() => withResources(async ({ database }) => print({ migrations: await migrate(database) })));
};

export const addMaintenance: AddCommand = (cli) => {
  const group = cli.commands.find((command) => command.name() === 'maintenance') ?? cli;
  const ids = 'number of ids to skip in each table; must exceed the number issued after the restore point';
  group
    .command('begin')
    .description('Closes the service for maintenance. Run it after a restore, before the service starts.')
    .option('--skip-ids <count>', ids, parseId, DEFAULT_SKIPPED_IDS)
    .requiredOption('--reason <text>', 'stored in the audit log', parseText)
    .action((options: { skipIds: number; reason: string }) =>
      withServices(async (app) => {
        const audit = AuditContext.ofCommandLine('maintenance.begin', options);
        await print(
          await app.get(StaffSystemService).beginMaintenance(audit, options.skipIds, options.reason),
        );
      }),
    );
};
