import { PriceRuleFields } from '../staff';
import { addAudit, addMigrate, addMaintenance } from './maintenance';
import { parseDurationMs, parseScopes, parseSwitch } from './options';
import { type AddCommand, routeCommand } from './route-command';

export const COMMAND_GROUPS = {
  users: 'Users',
  tokens: 'API tokens',
  webhooks: 'Webhooks of customers',
  balance: 'Balances and the ledger',
  deposits: "Customers' deposits and their refunds",
  payments: 'Payments that were not credited automatically',
  orders: 'Orders',
  'unmatched-proxies': 'Proxies that the provider lists under our order references but that match no order',
  prolongations: 'Prolongations that the provider shows but that match no order',
  maintenance: 'Maintenance after the database was restored to an earlier point in time',
  refunds: 'Refunds for proxies that do not work',
  renewals: 'Automatic renewals that customers have enabled',
  missing: 'Rented proxies missing from two consecutive provider listings',
  prices: 'Price rules, which set the markup',
  actions: 'The audit log of staff actions',
} as const;

const RULE = { markup_percent: 'markup', valid_from: 'from', valid_to: 'to' };
const PAUSED = {
  names: { paused: 'as' },
  readers: {
    paused: {
      argument: '<state>',
      description: 'paused: no renewal is ordered; running: renewals continue',
      read: (text: string) => parseSwitch(text, 'paused', 'running'),
    },
  },
};

export const COMMANDS: readonly AddCommand[] = [
  routeCommand('users create'),
  routeCommand('users block'),
  routeCommand('users unblock'),
  routeCommand('users erase'),
  routeCommand('users list', { action: 'users.search' }),
  routeCommand('users show', { action: 'users.read', names: { user_id: 'id' } }),

  routeCommand('webhooks list'),
  routeCommand('webhooks disable'),
  routeCommand('webhooks enable'),

  routeCommand('tokens create', {
    description:
      'For support, when a customer or a colleague needs access. The token is printed only once. It ' +
      'can be limited to certain networks, to an amount in roubles per day (UTC), and to a period of ' +
      'validity. The command line can issue any token.',
    names: { expires_at: 'expires-in' },
    readers: {
      expires_at: {
        argument: '<duration>',
        description: 'How long the token stays valid, e.g. 90m, 12h, 30d',
        read: (text) => new Date(Date.now() + parseDurationMs(text)).toJSON(),
      },
      scopes: {
        argument: '<list>',
        description:
          'Scopes, comma-separated. all: all customer scopes except tokens:write and the deposit ' +
          'scopes; read: the read-only scopes among these; staff: all staff scopes',
        read: parseScopes,
      },
    },
  }),
  routeCommand('tokens list', { names: { cursor: 'after' } }),
  routeCommand('tokens revoke', { defaults: { reason: 'revoked on the command line' } }),
  routeCommand('tokens descendants', { names: { cursor: 'after' } }),

  routeCommand('balance credit'),
  routeCommand('balance debit'),
  routeCommand('balance ledger', { action: 'ledger.read' }),
  routeCommand('balance statement', { action: 'ledger.statement' }),

  routeCommand('deposits list', { action: 'deposits.search' }),
  routeCommand('deposits refund'),
  routeCommand('deposits refunds', { action: 'deposit-refunds.list' }),
  routeCommand('deposits end-refund', { action: 'deposit-refunds.end' }),
  routeCommand('deposits decide', { action: 'deposit-refunds.decide', names: { decision: 'as' } }),
  routeCommand('payments list'),
  routeCommand('payments match'),
  routeCommand('payments reject'),
  routeCommand('payments take', { names: { payment_id: 'id' }, needsProvider: () => true }),

  routeCommand('orders list', { action: 'orders.search' }),
  routeCommand('orders show', { action: 'orders.read' }),
  routeCommand('orders decide', {
    names: { decision: 'as' },
    needsProvider: ({ as }) => as === 'deliver',
  }),
  routeCommand('orders refund'),

  routeCommand('unmatched-proxies list'),
  routeCommand('unmatched-proxies assign'),
  routeCommand('unmatched-proxies deliver'),
  routeCommand('unmatched-proxies mark', { names: { state: 'as' } }),

  routeCommand('refunds list'),
  routeCommand('refunds shares'),
  routeCommand('refunds file'),
  routeCommand('refunds decide', { names: { decision: 'as' } }),
  routeCommand('refunds rule', { action: 'refund-rule.read' }),
  routeCommand('refunds set-rule', {
    action: 'refund-rule.set',
    names: { enabled: 'as' },
    readers: {
      enabled: {
        argument: '<state>',
        description: 'enabled: customers can request refunds; disabled: they cannot',
        read: (text) => parseSwitch(text, 'enabled', 'disabled'),
      },
      versions: {
        argument: '<list>',
        description: 'IP versions for which proxies are refunded, comma-separated',
        read: (text) => text.split(','),
      },
    },
  }),

  routeCommand('renewals list', { names: { reason: 'why' } }),
  routeCommand('renewals show', { action: 'renewals.read' }),
  routeCommand('renewals pause', PAUSED),
  routeCommand('renewals pause-all', PAUSED),

  routeCommand('missing show', { action: 'missing.read' }),
  routeCommand('missing withdraw'),

  routeCommand('prolongations list', { action: 'found-prolongations.list' }),
  routeCommand('prolongations charge', { action: 'found-prolongations.charge' }),
  routeCommand('prolongations write-off', { action: 'found-prolongations.write-off' }),
  addMaintenance,
  routeCommand('maintenance show', { action: 'maintenance.read' }),
  routeCommand('maintenance end'),

  routeCommand('prices list'),
  routeCommand('prices which'),
  routeCommand('prices show', { action: 'prices.read' }),
  routeCommand('prices add', { names: RULE, isSigned: true }),
  routeCommand('prices end', { isSigned: true }),
  routeCommand('prices preview', { names: { ...RULE, end: 'replaces' }, objects: { add: PriceRuleFields } }),

  routeCommand('status', { action: 'status.read' }),
  routeCommand('sales', { action: 'sales.read', showsAll: 1_000_000 }),
  routeCommand('actions list', { action: 'actions.search' }),
  addAudit,
  addMigrate,
];
