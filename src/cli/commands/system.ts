import { type Command, Option } from 'commander';
import { migrate } from '../../database';
import { IntegrityService } from '../../integrity';
import { type SalesQuery, SalesService } from '../../sales';
import { type ActionFilter, StaffLog } from '../../staff';
import { StatusService } from '../../status';
import { parseDay, parseDimensions, parseId, parseMoment, parseTarget, parseText } from '../options';
import {
  answer,
  complain,
  type ListOptions,
  print,
  show,
  toPage,
  withListOptions,
  withResources,
} from '../run';

/** What is about all of the service. */
export function addSystem(cli: Command): void {
  cli
    .command('status')
    .description('How the service stands: orders under way, the provider, the catalog, jobs and replicas')
    .action(() => show('status.read', null, {}, (app) => app.get(StatusService).read()));

  cli
    .command('sales')
    .description('Sales, refunds, cost and margin of a period, the last day first')
    .requiredOption('--from <day>', 'of UTC, e.g. 2026-11-01', parseDay)
    .requiredOption('--to <day>', 'itself not included; 366 days later at most', parseDay)
    .option('--by <list>', 'any of day, country and version, separated by commas', parseDimensions, ['day'])
    .action((question: SalesQuery) =>
      show('sales.read', null, question, async (app) => {
        const { total, rows } = await app.get(SalesService).read(question);
        return { total, items: rows };
      }),
    );

  withListOptions(cli.command('actions').description('The log of what staff do').command('list'))
    .description('What was done or looked at, the last first')
    .option('--user <id>', 'who did it', parseId)
    .option('--action <name>', 'e.g. users.block', parseText)
    .option('--target <target>', 'what it was done to, e.g. user:42', parseTarget)
    .option('--from <moment>', 'then or later, e.g. 2027-01-31T09:00:00Z', parseMoment)
    .option('--to <moment>', 'before', parseMoment)
    .action((options: ListOptions & ActionFilter & { user?: number }) =>
      show('actions.search', null, options, (app) =>
        app.get(StaffLog).search({ ...options, userId: options.user ?? null }, toPage(options)),
      ),
    );

  cli
    .command('audit')
    .description('Holds the books against what must always be true; exit code 1 when something is not')
    .option('--provider', 'also against everything that the provider lists')
    .addOption(new Option('--upstream', 'former name of --provider').implies({ provider: true }).hideHelp())
    .action(({ provider = false }: { provider?: boolean }) =>
      answer(
        async (app) => {
          const report = await app.get(IntegrityService).run({ withProvider: provider });
          if (!report.ok) {
            process.exitCode = 1;
            const broken = report.checks.filter((check) => check.violations > 0);
            complain(`Broken: ${broken.map((check) => `${check.name} (${check.violations})`).join(', ')}`);
          }
          return report;
        },
        { provider },
      ),
    );

  cli
    .command('migrate')
    .description('Brings the database up to date')
    .action(() => withResources(async ({ database }) => print({ migrations: await migrate(database.url) })));
}
