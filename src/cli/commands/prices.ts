import { type Command, Option } from 'commander';
import { PricePreviewService } from '../../catalog';
import { IP_VERSIONS, type IpVersion } from '../../common';
import { type NewPriceRule, PriceRulesService } from '../../pricing';
import { Act, StaffPricesService, toPriceRuleRow } from '../../staff';
import { parseId, parseMoment, parseText } from '../options';
import { answer, LONGEST_LIST, show } from '../run';

interface RuleOptions extends Omit<NewPriceRule, 'userId' | 'markupPercent' | 'validFrom' | 'validTo'> {
  readonly user?: number;
  readonly markup?: string;
  readonly from?: Date;
  readonly to?: Date;
}

const toRule = ({ user, markup = '', from, to, ...scope }: RuleOptions): NewPriceRule => ({
  userId: user,
  country: scope.country,
  version: scope.version,
  minPeriod: scope.minPeriod,
  maxPeriod: scope.maxPeriod,
  markupPercent: markup,
  validFrom: from,
  validTo: to,
});

const versionOption = () => new Option('--version <version>', 'IPv6, IPv4, IPv4 shared').choices(IP_VERSIONS);

const withRuleOptions = (command: Command): Command =>
  command
    .option('--user <id>', 'for this user alone', parseId)
    .option(
      '--country <code>',
      'for this country alone; counts where it is cheaper than the quote',
      parseText,
    )
    .addOption(versionOption())
    .option('--min-period <days>', 'for this period and longer ones', parseId)
    .option('--max-period <days>', 'for this period and shorter ones', parseId)
    .option('--from <moment>', 'when it begins, e.g. 2027-01-31T09:00:00Z; else in two seconds', parseMoment)
    .option('--to <moment>', 'when it ends; else when it is ended', parseMoment);

export function addPrices(cli: Command): void {
  const prices = cli.command('prices').description('Rules of the markup');

  prices
    .command('list')
    .description('The rules that hold or will, the last ones first')
    .option('--history', 'also those that no longer hold')
    .option('--user <id>', 'of this user alone', parseId)
    .option('--before <id>', 'older ones only: the next page', parseId)
    .action((options: { history?: boolean; user?: number; before?: number }) =>
      show('prices.list', null, options, async (app) => {
        const rules = await app
          .get(PriceRulesService)
          .list({ ...options, userId: options.user, limit: LONGEST_LIST });
        return rules.map(toPriceRuleRow);
      }),
    );

  prices
    .command('which')
    .description('Which markup holds for an offer, or held')
    .option('--user <id>', 'for this user', parseId)
    .option('--country <code>', 'of an order; a quote names none', parseText)
    .addOption(versionOption().default('6'))
    .requiredOption('--period <days>', '', parseId)
    .option('--at <moment>', 'e.g. 2027-01-31T09:00:00Z; else now', parseMoment)
    .action((options: { user?: number; country?: string; version: IpVersion; period: number; at?: Date }) =>
      show('prices.which', null, options, async (app) => {
        const { user: userId = null, country, version, period } = options;
        const offer = { userId, country: country?.toLowerCase() ?? null, version, period };
        const { percent, rule, at } = await app.get(PriceRulesService).heldAt(offer, options.at);
        return { at, markup_percent: percent, rule: rule && toPriceRuleRow(rule) };
      }),
    );

  prices
    .command('show')
    .description('A rule with who added and ended it, and why')
    .requiredOption('--id <id>', 'of the rule', parseId)
    .action(({ id }: { id: number }) =>
      show('prices.read', { type: 'price-rule', id }, { id }, async (app) =>
        toPriceRuleRow(await app.get(PriceRulesService).get(id)),
      ),
    );

  withRuleOptions(prices.command('add'))
    .description('Adds a rule, and ends the one that it replaces')
    .requiredOption('--markup <percent>', 'e.g. 12.5', parseText)
    .option('--replaces <id>', 'ends another rule when this one begins', parseId)
    .requiredOption('--by <name>', 'who', parseText)
    .requiredOption('--reason <text>', 'kept with the rule', parseText)
    .action((options: RuleOptions & { replaces?: number; by: string; reason: string }) =>
      answer((app) =>
        app
          .get(StaffPricesService)
          .add(Act.onCommandLine('prices.add', null, options), toRule(options), options),
      ),
    );

  prices
    .command('end')
    .description('Ends a rule')
    .requiredOption('--id <id>', 'of the rule', parseId)
    .option('--at <moment>', 'when; else in two seconds', parseMoment)
    .requiredOption('--by <name>', 'who', parseText)
    .requiredOption('--reason <text>', 'kept with the rule', parseText)
    .action((options: { id: number; at?: Date; by: string; reason: string }) =>
      answer((app) => {
        const act = Act.onCommandLine('prices.end', { type: 'price-rule', id: options.id }, options);
        return app.get(StaffPricesService).end(act, options.id, options);
      }),
    );

  withRuleOptions(prices.command('preview'))
    .description('What a change would do to the prices: of a rule that is added, one that is ended, or both')
    .option('--markup <percent>', 'of the rule that is added', parseText)
    .option('--replaces <id>', 'the rule that is ended', parseId)
    .action(({ replaces, ...options }: RuleOptions & { replaces?: number }) =>
      show('prices.preview', null, { ...options, replaces }, (app) =>
        app.get(PricePreviewService).preview({
          add: Object.keys(options).length > 0 ? toRule(options) : undefined,
          end: replaces,
        }),
      ),
    );
}
