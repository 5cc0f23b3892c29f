import { resolve } from 'node:path';
import { Option } from 'commander';
import { readEnvironment } from '../config';
import { migrate } from '../database';
import { IntegrityService } from '../integrity';
import { backUpEmbedded, restoreEmbedded } from '../local';
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

const NO_PROVIDER = { provider: false };

/** The directory of the embedded database. @throws Error when the environment names another database */
function embeddedDataDir(): string {
  const { database, local } = readEnvironment(undefined, NO_PROVIDER);
  if (database.url !== undefined) {
    throw new Error(
      'This command is for the embedded database, and DATABASE_URL names another one: ' +
        'back that up with pgBackRest or pg_dump (operations/backup.md).',
    );
  }
  return local.dataDir;
}

export const addBackup: AddCommand = (cli) => {
  cli
    .command('backup')
    .description('Backs the embedded database up to a new file, beside a running service.')
    .argument('<file>', 'the file, which only its owner can read')
    .action(async (file: string) =>
      print(await backUpEmbedded({ dataDir: embeddedDataDir(), file: resolve(file) })),
    );
};

export const addRestore: AddCommand = (cli) => {
  cli
    .command('restore')
    .description('Replaces the embedded database by a backup. The service must not run.')
    .argument('<file>', 'the file that the command backup has written')
    .option('--replace', 'replace a database that is not empty')
    .action(async (file: string, { replace = false }: { replace?: boolean }) =>
      print(
        await restoreEmbedded({
          dataDir: embeddedDataDir(),
          file: resolve(file),
          replace,
          prepare: async () => undefined,
        }),
      ),
    );
};
