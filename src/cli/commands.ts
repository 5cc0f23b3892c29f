import { IP_VERSIONS } from '../common';
import { DEFAULT_SKIPPED_IDS, FOUND_PROLONGATION_STATES, ORPHAN_STATES } from '../inventory';
import { SalesService } from '../ledger';
import { ORDER_KINDS, ORDER_STATES } from '../orders';
import type { NewPriceRule } from '../pricing';
import { RENEWAL_STATES, SKIP_REASONS } from '../renewals';
import {
  AuditLogService,
  ORDER_DECISIONS,
  ORPHAN_MARKS,
  StaffBalancesService,
  StaffFindingsService,
  StaffOrdersService,
  StaffPricesService,
  StaffRecoveryService,
  StaffRenewalsService,
  StaffTokensService,
  StaffUsersService,
  StaffWebhooksService,
  type TargetType,
} from '../staff';
import { StatusService } from '../status';
import {
  type AddCommand,
  change,
  enabled,
  optional,
  type OptionsOf,
  read,
  required,
  target,
  withDefault,
} from './command-spec';
import { addAudit, addMigrate } from './maintenance';
import {
  parseAmount,
  parseAmountAboveZero,
  parseDay,
  parseDimensions,
  parseDurationMs,
  parseId,
  parseMoment,
  parseNetworks,
  parseScopes,
  parseTarget,
  parseText,
} from './options';

export const GROUPS = {
  users: 'Users',
  tokens: 'API tokens',
  webhooks: 'Webhooks of customers',
  balance: 'Balances and the ledger',
  orders: 'Orders',
  orphans: 'Proxies that the provider lists under our tags and that no order accounts for',
  prolongations: 'Prolongations that the provider shows and that no order accounts for',
  recovery: 'The recovery after the database was restored to an earlier moment',
  renewals: 'Renewals, which customers have switched on',
  missing: 'Rented proxies that were missing from two listings of the provider',
  prices: 'Price rules, which set the markup',
  actions: 'The audit log of what staff do',
} as const;

const MAX_ITEMS = 1000;

const withId = (type: TargetType) => ({ id: target(type, '<id>', parseId) });
const ofUser = { user: target('user', '<id>', parseId) };
const withReason = { reason: required('<text>', 'kept in the audit log', parseText) };
const withReference = {
  reason: required('<text>', 'kept with the ledger entry', parseText),
  reference: optional('<text>', 'the document behind it: an invoice or a ticket', parseText),
};
const KEY = 'an idempotency key: the command is executed once per key';
const withSignature = {
  by: required('<name>', 'who makes the change', parseText),
  reason: required('<text>', 'kept with the rule', parseText),
};

const withTerms = {
  price: required('<roubles>', 'what the user pays for each, e.g. 12.54', parseAmountAboveZero),
  cost: optional('<roubles>', "the provider's charge for each; the price by default", parseAmountAboveZero),
};

const asPaused = {
  as: required('<state>', 'paused: none is ordered; on: they go on', ['paused', 'on'] as const),
};

/** The options of a list that shows the newest first. */
const paged = (cursor = '<id>') => ({
  before: optional(cursor, 'show older ones only: the last one of the previous page', parseId),
  limit: withDefault(optional('<count>', 'show this many at most', parseId), MAX_ITEMS),
});
const toPage = ({ before, limit = MAX_ITEMS }: { before?: number | undefined; limit?: number }) => ({
  cursor: before ?? null,
  limit,
});

const ruleOptions = {
  user: optional('<id>', 'the only user that the rule is for', parseId),
  country: optional(
    '<code>',
    'the only country that it is for, where it is cheaper than the quote',
    parseText,
  ),
  version: optional('<version>', 'the only IP version that it is for', IP_VERSIONS),
  minPeriod: optional('<days>', 'the shortest period that it is for', parseId),
  maxPeriod: optional('<days>', 'the longest period that it is for', parseId),
  from: optional('<moment>', 'when it begins, e.g. 2027-01-31T09:00:00Z; else in two seconds', parseMoment),
  to: optional('<moment>', 'the end; open by default', parseMoment),
};
const toRule = (
  { user, from, to, ...rule }: OptionsOf<typeof ruleOptions>,
  markupPercent: string,
): NewPriceRule => ({
  userId: user,
  country: rule.country,
  version: rule.version,
  minPeriod: rule.minPeriod,
  maxPeriod: rule.maxPeriod,
  markupPercent,
  validFrom: from,
  validTo: to,
});

const blocking = (verb: 'block' | 'unblock', description: string): AddCommand =>
  change(StaffUsersService, `users ${verb}`, description, {
    options: { ...ofUser, ...withReason },
    run: (users, { user, reason }, audit) => users[verb](audit, user, reason),
  });

const switching = (verb: 'disable' | 'enable', description: string): AddCommand =>
  change(StaffWebhooksService, `webhooks ${verb}`, description, {
    options: { ...withId('webhook'), ...withReason },
    run: (webhooks, { id, reason }, audit) => webhooks[verb](audit, id, reason),
  });

const posting = (direction: 'credit' | 'debit', description: string): AddCommand =>
  change(StaffBalancesService, `balance ${direction}`, description, {
    options: {
      ...ofUser,
      amount: required('<roubles>', 'e.g. 500.00', parseAmount),
      ...withReference,
      key: required('<text>', KEY, String),
    },
    run: (balances, { user, key, ...rest }, audit) =>
      balances.post(audit, direction, { userId: user, ...rest }, key),
  });

/** Every use case of staff on the command line, with the service that carries it out. */
export const COMMANDS: readonly AddCommand[] = [
  change(StaffUsersService, 'users create', 'Creates a user with an empty account.', {
    options: {
      username: required('<name>', 'what staff call the user', parseText),
      tgId: optional('<number>', 'the number on the messaging platform', parseId),
      webUsername: optional('<name>', 'the login on the website', parseText),
      hasApp: enabled('the user has opened the companion application'),
    },
    run: (users, user, audit) => users.create(audit, user),
  }),
  blocking('block', 'Blocks a user: all tokens of the user are refused.'),
  blocking('unblock', 'Unblocks a user.'),
  read(StaffUsersService, 'users list', 'Lists users, newest first.', {
    action: 'users.search',
    options: {
      ...paged(),
      query: optional('<part>', 'a whole id, or a part of a name or number', parseText),
    },
    run: async (users, { query = null, ...page }) => (await users.search(query, toPage(page))).items,
  }),
  read(StaffUsersService, 'users show', 'Shows a user with their money.', {
    action: 'users.read',
    options: withId('user'),
    run: (users, { id }) => users.getProfile(id),
  }),

  read(StaffWebhooksService, 'webhooks list', 'Lists webhooks, newest first, without URLs and secrets.', {
    options: {
      ...paged(),
      user: optional('<id>', 'the only user whose webhooks are shown', parseId),
      disabled: enabled('show those alone that are switched off'),
      failing: enabled('show those alone that are on and whose last attempt failed'),
    },
    run: async (webhooks, { user, disabled, failing, ...page }) => {
      const filter = { userId: user ?? null, disabled: disabled ? true : null, failing: failing ?? false };
      return (await webhooks.list(filter, toPage(page))).items;
    },
  }),
  switching('disable', 'Switches a webhook off. Its customer cannot switch it on again.'),
  switching('enable', 'Switches a webhook on.'),

  change(StaffTokensService, 'tokens create', 'Issues a token and shows its text, this once.', {
    options: {
      ...ofUser,
      scopes: required(
        '<list>',
        'separated by commas; all: those of customers but tokens:write, staff: those of staff',
        parseScopes,
      ),
      name: optional('<name>', 'what the token is for', parseText),
      expiresIn: optional('<duration>', 'e.g. 90m, 12h, 30d', parseDurationMs),
      allowedIps: optional('<list>', 'networks in CIDR notation, separated by commas', parseNetworks),
      dailyLimit: optional(
        '<roubles>',
        'the most that its orders may take a day (UTC)',
        parseAmountAboveZero,
      ),
    },
    run: (tokens, { user, expiresIn, ...token }, audit) => {
      const expiresAt = expiresIn === undefined ? undefined : new Date(Date.now() + expiresIn);
      return tokens.issue(audit, { userId: user, expiresAt, ...token });
    },
  }),
  read(StaffTokensService, 'tokens list', 'Lists the tokens of a user, oldest first, without their text.', {
    options: {
      ...ofUser,
      after: optional('<id>', 'show newer ones only: the last one of the previous page', parseId),
    },
    run: async (tokens, { user, after }) => (await tokens.list(user, toPage({ before: after }))).items,
  }),
  change(StaffTokensService, 'tokens revoke', 'Revokes a token.', {
    options: {
      ...withId('token'),
      reason: optional('<text>', 'kept in the audit log', parseText),
      descendants: enabled('revoke all tokens that came from it, too'),
    },
    run: (tokens, { id, reason, descendants }, audit) => tokens.revoke(audit, id, { reason, descendants }),
  }),
  read(StaffTokensService, 'tokens descendants', 'Lists the tokens that came from a token and still work.', {
    options: {
      ...withId('token'),
      after: optional('<id>', 'show newer ones only: the last one of the previous page', parseId),
    },
    run: async (tokens, { id, after }) => (await tokens.listDescendants(id, toPage({ before: after }))).items,
  }),

  posting('credit', 'Adds money to a balance.'),
  posting('debit', 'Takes money from a balance; money that is held for orders stays held.'),
  read(StaffBalancesService, 'balance ledger', 'Shows the changes of a balance, newest first.', {
    action: 'ledger.read',
    options: { ...paged('<seq>'), ...ofUser },
    run: async (balances, { user, ...page }) => (await balances.listEntries(user, toPage(page))).items,
  }),
  read(StaffBalancesService, 'balance statement', 'Prints a period of the ledger as CSV.', {
    action: 'ledger.statement',
    options: {
      ...ofUser,
      from: required('<moment>', 'the beginning of the period, e.g. 2026-11-01T00:00:00Z', parseMoment),
      to: required('<moment>', 'the end of the period, which is not included', parseMoment),
    },
    run: (balances, { user, from, to }) => balances.readStatement(user, from, to),
  }),

  read(StaffOrdersService, 'orders list', 'Lists orders, newest first.', {
    action: 'orders.search',
    options: {
      ...paged(),
      user: optional('<id>', 'the user who placed it', parseId),
      state: optional('<state>', 'the state of the order', ORDER_STATES),
      kind: optional('<kind>', 'a purchase or a prolongation', ORDER_KINDS),
      from: optional('<moment>', 'placed at this time or later, e.g. 2027-01-31T09:00:00Z', parseMoment),
      to: optional('<moment>', 'placed before this time', parseMoment),
      tag: optional('<tag>', 'the tag of the order or of its batch', parseText),
      providerOrderId: optional('<id>', 'the id of the order at the provider', parseText),
      providerProxyId: optional('<id>', 'the id of a proxy of the order at the provider', parseText),
      host: optional('<address>', 'the address of a proxy of the order', parseText),
      requestId: optional('<id>', 'the X-Request-Id of the request that placed it', parseText),
    },
    run: async (orders, { user, ...options }) =>
      (await orders.search({ ...options, userId: user }, toPage(options))).items,
  }),
  read(StaffOrdersService, 'orders show', 'Shows everything that is known of an order.', {
    action: 'orders.read',
    options: withId('order'),
    run: (orders, { id }) => orders.getDetail(id),
  }),
  change(StaffOrdersService, 'orders decide', 'Closes an order in review.', {
    options: {
      ...withId('order'),
      as: required(
        '<decision>',
        'deliver: hand over what the provider has; refund: return the money',
        ORDER_DECISIONS,
      ),
      ...withReason,
    },
    needsProvider: ({ as }) => as === 'deliver',
    run: (orders, { id, as, reason }, audit) => orders.decide(audit, id, as, reason),
  }),
  change(StaffOrdersService, 'orders refund', 'Refunds an order; the proxies stay with the user.', {
    options: {
      ...withId('order'),
      amount: optional('<roubles>', 'e.g. 12.54; the whole rest by default', parseAmountAboveZero),
      ...withReference,
      key: required('<text>', KEY, String),
    },
    run: (orders, { id, key, ...refund }, audit) => orders.refund(audit, { orderId: id, ...refund }, key),
  }),

  read(StaffFindingsService, 'orphans list', 'Lists orphans, newest first.', {
    options: {
      ...paged(),
      state: optional('<state>', 'what was decided about them', ORPHAN_STATES),
      tag: optional('<tag>', 'the tag under which the provider lists them', parseText),
    },
    run: async (findings, options) => (await findings.listOrphans(options, toPage(options))).items,
  }),
  change(
    StaffFindingsService,
    'orphans assign',
    'Gives an orphan to the user of a purchase, free of charge.',
    {
      options: {
        ...withId('orphan'),
        order: required('<id>', 'the purchase; an assignment cannot be undone', parseId),
        ...withReason,
      },
      run: (findings, { id, order, reason }, audit) => findings.assignOrphan(audit, id, order, reason),
    },
  ),
  change(
    StaffFindingsService,
    'orphans deliver',
    'Delivers orphans of one tag to a user and charges for them.',
    {
      options: {
        ...withId('orphan'),
        user: required('<id>', 'the user to whom they are delivered', parseId),
        count: optional('<count>', 'how many of the tag, this one first; all by default', parseId),
        period: optional('<days>', 'the period in days; until their end by default', parseId),
        ...withTerms,
        ...withReason,
      },
      run: (findings, { id, user, ...terms }, audit) =>
        findings.deliverOrphans(audit, id, { userId: user, ...terms }),
    },
  ),
  change(StaffFindingsService, 'orphans mark', 'Marks what is to become of an orphan.', {
    options: {
      ...withId('orphan'),
      as: required('<state>', 'written-off: it stays our cost; open: look into it again', ORPHAN_MARKS),
      ...withReason,
    },
    run: (findings, { id, as, reason }, audit) => findings.markOrphan(audit, id, as, reason),
  }),

  read(StaffRenewalsService, 'renewals list', 'Lists renewals, newest first.', {
    options: {
      ...paged(),
      user: optional('<id>', 'whose proxies they are of', parseId),
      state: optional('<state>', 'the state of the renewal', RENEWAL_STATES),
      why: optional('<reason>', 'why it was skipped or failed', SKIP_REASONS),
      due: enabled('those that are due, and wait for the service or the provider'),
    },
    run: async (renewals, { user, state, why, due, ...options }) =>
      (await renewals.list({ userId: user, state, reason: why, due }, toPage(options))).items,
  }),
  read(StaffRenewalsService, 'renewals show', 'Shows what a user has switched on.', {
    action: 'renewals.read',
    options: ofUser,
    run: (renewals, { user }) => renewals.ofUser(user),
  }),
  change(StaffRenewalsService, 'renewals pause', "Pauses a user's renewals, or lets them go on.", {
    options: { ...ofUser, ...asPaused, ...withReason },
    run: (renewals, { user, as, reason }, audit) => renewals.pause(audit, user, as === 'paused', reason),
  }),
  change(StaffRenewalsService, 'renewals pause-all', 'Pauses all renewals, or lets them go on.', {
    options: { ...asPaused, ...withReason },
    run: (renewals, { as, reason }, audit) => renewals.pauseAll(audit, as === 'paused', reason),
  }),

  read(StaffFindingsService, 'missing show', 'Shows how many rented proxies are missing.', {
    action: 'missing.read',
    options: {},
    run: (findings) => findings.countMissing(),
  }),
  change(StaffFindingsService, 'missing withdraw', 'Withdraws the proxies that are missing.', {
    options: {
      proxies: required('<count>', 'how many were shown to be missing', parseId),
      ...withReason,
    },
    run: (findings, { proxies, reason }, audit) => findings.withdrawMissing(audit, proxies, reason),
  }),

  read(StaffFindingsService, 'prolongations list', 'Lists found prolongations, newest first.', {
    action: 'found-prolongations.list',
    options: {
      ...paged(),
      state: optional('<state>', 'what was decided about them', FOUND_PROLONGATION_STATES),
    },
    run: async (findings, { state, ...options }) =>
      (await findings.listProlongations(state ?? null, toPage(options))).items,
  }),
  change(StaffFindingsService, 'prolongations charge', 'Charges the user for a found prolongation.', {
    action: 'found-prolongations.charge',
    options: {
      ...withId('found-prolongation'),
      period: optional('<days>', 'the period in days; the days that were found by default', parseId),
      ...withTerms,
      ...withReason,
    },
    run: (findings, { id, reason, ...terms }, audit) => findings.chargeProlongation(audit, id, terms, reason),
  }),
  change(StaffFindingsService, 'prolongations write-off', 'Leaves a found prolongation our cost.', {
    action: 'found-prolongations.write-off',
    options: { ...withId('found-prolongation'), ...withReason },
    run: (findings, { id, reason }, audit) => findings.writeOffProlongation(audit, id, reason),
  }),
  change(StaffRecoveryService, 'recovery begin', 'Shuts orders after a restore, before the service starts.', {
    options: {
      skipIds: withDefault(
        optional('<count>', 'ids to skip in each table: more than were issued since', parseId),
        DEFAULT_SKIPPED_IDS,
      ),
      ...withReason,
    },
    run: (recovery, { skipIds, reason }, audit) => recovery.begin(audit, skipIds, reason),
  }),
  read(StaffRecoveryService, 'recovery show', 'Shows what is to be done until orders can be opened.', {
    action: 'recovery.read',
    options: {},
    run: (recovery) => recovery.show(),
  }),
  change(StaffRecoveryService, 'recovery end', 'Opens orders again; refused while something is undecided.', {
    options: withReason,
    run: (recovery, { reason }, audit) => recovery.end(audit, reason),
  }),

  read(StaffPricesService, 'prices list', 'Lists the price rules in force and those to come, newest first.', {
    options: {
      history: enabled('list the rules that have ended, too'),
      user: optional('<id>', 'the user whose own rules are listed', parseId),
      before: optional('<id>', 'show older ones only: the last one of the previous page', parseId),
    },
    run: async (prices, { history, user, before }) =>
      (await prices.list({ history, userId: user }, toPage({ before }))).items,
  }),
  read(StaffPricesService, 'prices which', 'Shows which markup applies to an offer.', {
    options: {
      user: optional('<id>', 'the user who would order', parseId),
      country: optional('<code>', 'the country of an order; a quote names none', parseText),
      version: withDefault(optional('<version>', 'the IP version', IP_VERSIONS), '6'),
      period: required('<days>', 'the period', parseId),
      at: optional('<moment>', 'e.g. 2027-01-31T09:00:00Z; now by default', parseMoment),
    },
    run: (prices, { user = null, country = null, version, period, at }) =>
      prices.findMarkup({ userId: user, country, version, period }, at),
  }),
  read(StaffPricesService, 'prices show', 'Shows a price rule, with who added and ended it and why.', {
    action: 'prices.read',
    options: withId('price-rule'),
    run: (prices, { id }) => prices.get(id),
  }),
  change(StaffPricesService, 'prices add', 'Adds a price rule and ends the one that it replaces.', {
    options: {
      ...ruleOptions,
      markup: required('<percent>', 'the markup of the rule, e.g. 12.5', parseText),
      replaces: optional('<id>', 'the rule that ends when this one begins', parseId),
      ...withSignature,
    },
    run: (prices, { markup, by, reason, replaces, ...rule }, audit) =>
      prices.add(audit, toRule(rule, markup), { by, reason, replaces }),
  }),
  change(StaffPricesService, 'prices end', 'Ends a price rule.', {
    options: {
      ...withId('price-rule'),
      at: optional('<moment>', 'the end; in two seconds by default', parseMoment),
      ...withSignature,
    },
    run: (prices, { id, at, by, reason }, audit) => prices.end(audit, id, { at, by, reason }),
  }),
  read(StaffPricesService, 'prices preview', 'Shows the prices before and after a change of rules.', {
    options: {
      ...ruleOptions,
      markup: optional('<percent>', 'the markup of the rule that is added', parseText),
      replaces: optional('<id>', 'the rule that is ended', parseId),
    },
    run: (prices, { replaces, markup, ...rule }) => {
      const adds = markup !== undefined || Object.keys(rule).length > 0;
      return prices.preview({ add: adds ? toRule(rule, markup ?? '') : undefined, end: replaces });
    },
  }),

  read(StatusService, 'status', 'Shows the state of the service, its jobs and replicas.', {
    action: 'status.read',
    options: {},
    run: (status) => status.read(),
  }),
  read(SalesService, 'sales', 'Sums up sales, refunds, cost and margin, latest day first.', {
    action: 'sales.read',
    options: {
      from: required('<day>', 'the first day (UTC), e.g. 2026-11-01', parseDay),
      to: required('<day>', 'the day after the last, at most 366 days later', parseDay),
      by: withDefault(
        optional('<list>', 'any of day, country and version, separated by commas', parseDimensions),
        ['day'],
      ),
    },
    run: async (sales, question) => {
      const { total, rows } = await sales.read(question);
      return { total, items: rows };
    },
  }),
  read(AuditLogService, 'actions list', 'Lists what staff changed or looked at, newest first.', {
    action: 'actions.search',
    options: {
      ...paged(),
      user: optional('<id>', 'the member of staff', parseId),
      action: optional('<name>', 'what was done, e.g. users.block', parseText),
      target: optional('<target>', 'what it was done to, e.g. user:42', parseTarget),
      from: optional('<moment>', 'at this time or later, e.g. 2027-01-31T09:00:00Z', parseMoment),
      to: optional('<moment>', 'before this time', parseMoment),
    },
    run: async (auditLog, { user, ...options }) =>
      (await auditLog.search({ ...options, userId: user }, toPage(options))).items,
  }),
  addAudit,
  addMigrate,
];
