import { NestFactory } from '@nestjs/core';
import { Command, Option } from 'commander';
import { AdministrationModule } from '../administration.module';
import { AuditService } from '../audit';
import { PricePreviewService } from '../catalog';
import { readEnvironment } from '../config';
import { migrate } from '../database';
import { type NewPriceRule, PriceRulesService } from '../pricing';
import type { IpVersion } from '../provider';
import { acquireResources } from '../resources';
import { type SalesQuestion, SalesService } from '../sales';
import {
  Act,
  ORDER_KINDS,
  ORDER_STATES,
  type OrderFilter,
  StaffBalanceService,
  StaffLog,
  StaffOrdersService,
  StaffPricesService,
  StaffTokensService,
  StaffUsersService,
  type Target,
  toPriceRuleRow,
} from '../staff';
import { StatusService } from '../status';
import {
  parseAmount,
  parseDay,
  parseDimensions,
  parseDurationMs,
  parseId,
  parseLimit,
  parseMoment,
  parseNetworks,
  parseScopes,
  parseText,
} from './options';
import type { INestApplicationContext } from '@nestjs/common';

const print = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
const complain = (line: string): void => void process.stderr.write(`${line}\n`);
/** Where the database lies and the like is told by the service's start; here the standard error is for refusals. */
const ignoreNotes = (): void => undefined;

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

const versionOption = () =>
  new Option('--version <version>', 'IPv6, IPv4, IPv4 shared').choices(['6', '4', '4s']);

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

const NO_UPSTREAM = { upstream: false };

/** Runs a use case over the database of the environment: beside a running service, or alone. */
async function withServices(
  useCase: (app: INestApplicationContext) => Promise<unknown>,
  needs = NO_UPSTREAM,
): Promise<void> {
  const environment = readEnvironment(undefined, needs);
  const resources = await acquireResources(environment, needs, ignoreNotes);
  try {
    if (environment.migrateOnStart) await migrate(resources.config.databaseUrl);
    const app = await NestFactory.createApplicationContext(AdministrationModule.with(resources.config), {
      logger: false,
      abortOnError: false,
    });
    try {
      print(await useCase(app));
    } finally {
      await app.close();
    }
  } finally {
    await resources.release();
  }
}

/** The same for what only shows: the log has it before it is printed. */
const show = (
  action: string,
  target: Target | null,
  request: object,
  useCase: (app: INestApplicationContext) => Promise<unknown>,
): Promise<void> =>
  withServices(async (app) => {
    const shown = await useCase(app);
    await app.get(StaffLog).read(Act.onCommandLine(action, target, request));
    return shown;
  });

const LONGEST_LIST = 1000;

interface ListOptions {
  readonly before?: number;
  readonly limit: number;
}

const withListOptions = (command: Command): Command =>
  command
    .option('--before <id>', 'older ones only: the next page', parseId)
    .option('--limit <count>', 'so many at most', parseId, LONGEST_LIST);

const toPage = ({ before, limit }: ListOptions) => ({ cursor: before ?? null, limit });

export function createCli(): Command {
  const cli = new Command('cli')
    .description('Administration of the proxy rental service. Prints JSON.')
    // Whatever commander says of an argument, a suggestion included, on one line.
    .configureOutput({ outputError: (text) => complain(text.trim().replaceAll('\n', ' ')) })
    .exitOverride();

  const users = cli.command('users').description('Users');
  users
    .command('create')
    .requiredOption('--username <name>', 'name on the messaging platform', parseText)
    .option('--tg-id <number>', 'number on the messaging platform', parseId)
    .option('--web-username <name>', 'login on the website', parseText)
    .option('--has-app', 'has opened the companion application')
    .action((options: { username: string; tgId?: number; webUsername?: string; hasApp?: boolean }) =>
      withServices((app) =>
        app.get(StaffUsersService).create(Act.onCommandLine('users.create', null, options), options),
      ),
    );
  for (const change of ['block', 'unblock'] as const) {
    users
      .command(change)
      .requiredOption('--user <id>', 'whom', parseId)
      .requiredOption('--reason <text>', 'kept in the log', parseText)
      .action((options: { user: number; reason: string }) =>
        withServices((app) => {
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
    .option('--daily-limit <roubles>', 'what its orders may take in a day of UTC', parseLimit)
    .action(
      (options: {
        user: number;
        scopes: ReturnType<typeof parseScopes>;
        name?: string;
        expiresIn?: number;
        allowedIps?: string[];
        dailyLimit?: ReturnType<typeof parseAmount>;
      }) =>
        withServices((app) =>
          app
            .get(StaffTokensService)
            .issue(Act.onCommandLine('tokens.create', { type: 'user', id: options.user }, options), {
              userId: options.user,
              scopes: options.scopes,
              name: options.name,
              expiresAt:
                options.expiresIn === undefined ? undefined : new Date(Date.now() + options.expiresIn),
              allowedIps: options.allowedIps,
              dailyLimit: options.dailyLimit,
            }),
        ),
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
      withServices((app) => {
        const act = Act.onCommandLine('tokens.revoke', { type: 'token', id }, { id, reason });
        return app.get(StaffTokensService).revoke(act, id, reason);
      }),
    );

  const balance = cli.command('balance').description('Balances');
  for (const direction of ['credit', 'debit'] as const) {
    balance
      .command(direction)
      .requiredOption('--user <id>', 'whose', parseId)
      .requiredOption('--amount <roubles>', 'e.g. 500.00', parseAmount)
      .requiredOption('--reason <text>', 'kept with the entry', parseText)
      .option('--reference <text>', 'an invoice, a ticket', parseText)
      .action(
        (options: {
          user: number;
          amount: ReturnType<typeof parseAmount>;
          reason: string;
          reference?: string;
        }) =>
          withServices(async (app) => {
            const { user: userId, ...posting } = options;
            const act = Act.onCommandLine(`balance.${direction}`, { type: 'user', id: userId }, options);
            const { entry } = await app.get(StaffBalanceService).post(act, direction, { userId, ...posting });
            return entry;
          }),
      );
  }

  const orders = cli.command('orders').description('Orders');
  withListOptions(orders.command('list'))
    .description('The last placed first')
    .option('--user <id>', 'whose', parseId)
    .addOption(new Option('--state <state>', '').choices(ORDER_STATES))
    .addOption(new Option('--kind <kind>', '').choices(ORDER_KINDS))
    .option('--from <moment>', 'placed then or later, e.g. 2027-01-31T09:00:00Z', parseMoment)
    .option('--to <moment>', 'placed before', parseMoment)
    .option('--tag <tag>', 'its own, or the one under which it went to the provider', parseText)
    .option('--provider-order-id <id>', 'its number at the provider', parseText)
    .option(
      '--provider-proxy-id <id>',
      'of a proxy that it delivered or prolonged, at the provider',
      parseText,
    )
    .option('--host <address>', 'of a proxy that it delivered or prolonged', parseText)
    .option('--request-id <id>', 'of the request that placed it', parseText)
    .action((options: ListOptions & OrderFilter & { user?: number }) =>
      show('orders.search', null, options, (app) =>
        app.get(StaffOrdersService).search({ ...options, userId: options.user }, toPage(options)),
      ),
    );
  orders
    .command('show')
    .description('All that is known of an order')
    .requiredOption('--id <id>', 'of the order', parseId)
    .action(({ id }: { id: number }) =>
      show('orders.read', { type: 'order', id }, { id }, (app) => app.get(StaffOrdersService).get(id)),
    );

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
  withRuleOptions(prices.command('add'))
    .description('Adds a rule, and ends the one that it replaces')
    .requiredOption('--markup <percent>', 'e.g. 12.5', parseText)
    .option('--replaces <id>', 'ends another rule when this one begins', parseId)
    .requiredOption('--by <name>', 'who', parseText)
    .requiredOption('--reason <text>', 'kept with the rule', parseText)
    .action((options: RuleOptions & { replaces?: number; by: string; reason: string }) =>
      withServices((app) =>
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
      withServices((app) => {
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

  cli
    .command('status')
    .description('How the service stands: orders under way, the provider, the catalogue, jobs and replicas')
    .action(() => show('status.read', null, {}, (app) => app.get(StatusService).read()));

  cli
    .command('sales')
    .description('Sales, refunds, cost and margin of a period, the last day first')
    .requiredOption('--from <day>', 'of UTC, e.g. 2026-11-01', parseDay)
    .requiredOption('--to <day>', 'itself not included; 366 days later at most', parseDay)
    .option('--by <list>', 'any of day, country and version, separated by commas', parseDimensions, ['day'])
    .action((question: SalesQuestion) =>
      show('sales.read', null, question, async (app) => {
        const { total, rows } = await app.get(SalesService).read(question);
        return { total, items: rows };
      }),
    );

  cli
    .command('audit')
    .description('Holds the books against what must always be true; exit code 1 when something is not')
    .option('--upstream', 'also against everything that the upstream lists')
    .action(({ upstream = false }: { upstream?: boolean }) =>
      withServices(
        async (app) => {
          const report = await app.get(AuditService).run({ upstream });
          if (!report.ok) {
            process.exitCode = 1;
            const broken = report.checks.filter((check) => check.violations > 0);
            complain(`Broken: ${broken.map((check) => `${check.name} (${check.violations})`).join(', ')}`);
          }
          return report;
        },
        { upstream },
      ),
    );

  cli
    .command('migrate')
    .description('Brings the database up to date')
    .action(async () => {
      const resources = await acquireResources(
        readEnvironment(undefined, NO_UPSTREAM),
        NO_UPSTREAM,
        ignoreNotes,
      );
      try {
        print({ migrations: await migrate(resources.config.databaseUrl) });
      } finally {
        await resources.release();
      }
    });

  return cli;
}
