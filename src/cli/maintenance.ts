import { resolve } from 'node:path';
import { Option } from 'commander';
import { type Environment, readEnvironment, resolveConfig } from '../config';
import { migrate } from '../database';
import { IntegrityService } from '../integrity';
import { backUpEmbedded, restoreEmbedded } from '../local';
import { AuditContext, StaffRecoveryService } from '../staff';
import type { AddCommand } from './command-spec';
import { complain, print, withResources, withServices, withServicesOf } from './run';

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

/** More ids than a backup can be behind by: those that were given out since are never given out again. */
const SKIPPED_IDS = 1_000_000;

/** @throws Error when the environment names another database than the embedded one */
function readEmbeddedEnvironment(): Environment {
  const environment = readEnvironment(undefined, NO_PROVIDER);
  if (environment.database.url !== undefined) {
    throw new Error(
      'This command is for the embedded database, and DATABASE_URL names another one: ' +
        'back that up with pgBackRest or pg_dump (operations/backup.md).',
    );
  }
  return environment;
}

/** Shuts orders of a restored database, before a service can start on it. */
function beginRecovery(environment: Environment, url: string, file: string): Promise<void> {
  const config = resolveConfig(environment, url, { baseUrl: '', apiKey: '' });
  return withServicesOf(config, async (app) => {
    const audit = AuditContext.ofCommandLine('recovery.begin', null, { file });
    await app.get(StaffRecoveryService).begin(audit, SKIPPED_IDS, `Restored from ${file}`);
  });
}

export const addBackup: AddCommand = (cli) => {
  cli
    .command('backup')
    .description('Backs the embedded database up to a new file, beside a running service.')
    .argument('<file>', 'the file, which only its owner can read')
    .action(async (file: string) => {
      const { dataDir } = readEmbeddedEnvironment().local;
      await print(await backUpEmbedded({ dataDir, file: resolve(file) }));
    });
};

export const addRestore: AddCommand = (cli) => {
  cli
    .command('restore')
    .description('Replaces the embedded database by a backup, with orders shut. The service must not run.')
    .argument('<file>', 'the file that the command backup has written')
    .option('--replace', 'replace a database that is not empty')
    .action(async (name: string, { replace = false }: { replace?: boolean }) => {
      const environment = readEmbeddedEnvironment();
      const file = resolve(name);
      const restored = await restoreEmbedded({
        dataDir: environment.local.dataDir,
        file,
        replace,
        prepare: ({ url }) => beginRecovery(environment, url, file),
      });
      await print({ ...restored, recovering: true });
    });
};
