import { Option } from 'commander';
import { migrate } from '../database';
import { IntegrityService } from '../integrity';
import type { AddCommand } from './command-spec';
import { complain, print, withResources, withServices } from './run';

export const addAudit: AddCommand = (cli) => {
  cli
    .command('audit')
    .description('Checks the books against every invariant. The exit code is 1 when one is violated.')
    .option('--day', 'only what changed since yesterday began (UTC)')
    .option('--provider', 'check them against everything that the provider lists, too')
    .addOption(new Option('--upstream', 'former name of --provider').implies({ provider: true }).hideHelp())
    .action(({ provider = false, day = false }: { provider?: boolean; day?: boolean }) =>
      withServices(
        async (app) => {
          const report = await app
            .get(IntegrityService)
            .run({ scope: day ? 'day' : 'all', withProvider: provider });
          if (!report.ok) {
            process.exitCode = 1;
            const violated = report.checks.filter((check) => check.violations > 0);
            complain(`Broken: ${violated.map((check) => `${check.name} (${check.violations})`).join(', ')}`);
          }
          await print(report);
        },
        { provider },
      ),
    );
};

export const addMigrate: AddCommand = (cli) => {
  cli
    .command('migrate')
    .description('Brings the database up to date and prints the migrations that were run.')
    .action(() => withResources(async ({ database }) => print({ migrations: await migrate(database) })));
};
