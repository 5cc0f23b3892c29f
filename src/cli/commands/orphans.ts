import { type Command, Option } from 'commander';
import { OrphansService, type OrphanState } from '../../orders';
import { Act, ORPHAN_MARKS, ORPHAN_STATES, StaffDecisionsService } from '../../staff';
import { parseId, parseText } from '../options';
import { answer, type ListOptions, show, toPage, withListOptions } from '../run';

interface MarkOptions {
  readonly id: number;
  readonly as: 'open' | 'written-off';
  readonly reason: string;
}

export function addOrphans(cli: Command): void {
  const orphans = cli
    .command('orphans')
    .description('Proxies that the provider lists under our tags and that no order accounts for');

  withListOptions(orphans.command('list'))
    .description('The last found first')
    .addOption(new Option('--state <state>', '').choices(ORPHAN_STATES))
    .option('--tag <tag>', 'under which the provider has it', parseText)
    .action((options: ListOptions & { state?: OrphanState; tag?: string }) =>
      show('orphans.list', null, options, (app) => {
        const { state = null, tag = null } = options;
        return app.get(OrphansService).list({ state, tag }, toPage(options));
      }),
    );

  orphans
    .command('assign')
    .description('Hands it to the user of a purchase, free of charge; it cannot be taken back')
    .requiredOption('--id <id>', 'of the orphan', parseId)
    .requiredOption('--order <id>', 'the purchase', parseId)
    .requiredOption('--reason <text>', 'kept in the log', parseText)
    .action((options: { id: number; order: number; reason: string }) =>
      answer((app) => {
        const { id, order, reason } = options;
        const act = Act.onCommandLine('orphans.assign', { type: 'orphan', id }, options);
        return app.get(StaffDecisionsService).assignOrphan(act, id, order, reason);
      }),
    );

  orphans
    .command('mark')
    .description('Says what is to become of it')
    .requiredOption('--id <id>', 'of the orphan', parseId)
    .addOption(
      new Option('--as <state>', 'written-off: it stays our cost; open: somebody has to look again')
        .choices(ORPHAN_MARKS)
        .makeOptionMandatory(),
    )
    .requiredOption('--reason <text>', 'kept in the log', parseText)
    .action((options: MarkOptions) =>
      answer((app) => {
        const { id, as, reason } = options;
        const act = Act.onCommandLine('orphans.mark', { type: 'orphan', id }, options);
        return app.get(StaffDecisionsService).markOrphan(act, id, as, reason);
      }),
    );
}
