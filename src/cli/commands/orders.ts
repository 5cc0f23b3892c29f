import { type Command, Option } from 'commander';
import type { Money } from '../../common';
import {
  Act,
  ORDER_DECISIONS,
  ORDER_KINDS,
  ORDER_STATES,
  type OrderDecision,
  type OrderFilter,
  StaffDecisionsService,
  StaffOrdersService,
} from '../../staff';
import { parseAmountAboveZero, parseId, parseMoment, parseText } from '../options';
import { answer, type ListOptions, show, toPage, withListOptions } from '../run';

interface DecisionOptions {
  readonly id: number;
  readonly as: OrderDecision;
  readonly reason: string;
}

interface RefundOptions {
  readonly id: number;
  readonly amount?: Money;
  readonly reason: string;
  readonly reference?: string;
  readonly key: string;
}

export function addOrders(cli: Command): void {
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

  orders
    .command('decide')
    .description('Ends an order in review')
    .requiredOption('--id <id>', 'of the order', parseId)
    .addOption(
      new Option('--as <decision>', 'deliver: what the provider, asked once more, has of it; refund: all')
        .choices(ORDER_DECISIONS)
        .makeOptionMandatory(),
    )
    .requiredOption('--reason <text>', 'kept in the log', parseText)
    .action((options: DecisionOptions) =>
      answer(
        (app) => {
          const { id, as, reason } = options;
          const act = Act.onCommandLine('orders.decide', { type: 'order', id }, options);
          return app.get(StaffDecisionsService).decide(act, id, as, reason);
        },
        { provider: options.as === 'deliver' },
      ),
    );

  orders
    .command('refund')
    .description('Gives back of what an order has paid; the proxies stay with the user')
    .requiredOption('--id <id>', 'of the order', parseId)
    .option('--amount <roubles>', 'e.g. 12.54; else all that is left', parseAmountAboveZero)
    .requiredOption('--reason <text>', 'kept with the entry', parseText)
    .option('--reference <text>', 'an invoice, a ticket', parseText)
    .requiredOption('--key <text>', 'with the same one it is done once, however often it is asked for')
    .action((options: RefundOptions) =>
      answer(async (app) => {
        const { id: orderId, key, ...refund } = options;
        const act = Act.onCommandLine('orders.refund', { type: 'order', id: orderId }, options);
        const { entry } = await app.get(StaffDecisionsService).refund(act, { orderId, ...refund }, key);
        return entry;
      }),
    );
}
