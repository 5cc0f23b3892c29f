import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { createCli } from '../src/cli/cli';
import { addOutlined, emptyCli, type Outline, outlineOf } from '../src/cli/outline';
import { PaymentsSandbox } from '../src/sandbox';
import { StaffModule, StaffPaymentsModule } from '../src/staff';
import { AUDITED_ROUTE, type AuditedRoute } from '../src/staff/audit-log/audit-log.interceptor';
import { runCliHere, shareServicesOfCommands } from './support/cli';
import { forAllTests, forEachTest } from './support/fixtures';
import { insertUnmatchedProxy } from './support/proxy-rows';
import { createStaff } from './support/staff';
import { paymentsEnvironment, startTestService } from './support/test-service';

interface Row {
  readonly id: number;
}

const PERIOD = '--from 2026-01-01T00:00:00Z --to 2100-01-01T00:00:00Z';
const REASON = '--reason test';
const BY = '--by anna --reason test';

/** The command line needs no list of scopes. */
const OVER_HTTP_ALONE = ['scopes.list'];
/** These commands for operators neither show nor change customers' data. */
const ON_THE_COMMAND_LINE_ALONE = ['audit', 'migrate', 'maintenance begin'];

// The tests insert orders, unmatched proxies and maintenance, and withdraw listed proxies.
const payments = forAllTests(() => PaymentsSandbox.start());
const service = forAllTests(() => startTestService({ payments }));
forAllTests(shareServicesOfCommands);
const customer = forEachTest(() => service.createUser());

const query = <Found>(statement: string, parameters: unknown[] = []): Promise<Found[]> =>
  service.dataSource.query(statement, parameters);

const provider = () => ({ PX6_API_KEY: service.sandbox.apiKey, PX6_BASE_URL: service.sandbox.baseUrl });

const environmentWith = (more: Record<string, string> = {}) => ({
  DATABASE_URL: service.databaseUrl,
  MIGRATE_ON_START: 'false',
  ...paymentsEnvironment(payments),
  ...more,
});

async function textOf(command: string, more?: Record<string, string>): Promise<string> {
  const outcome = await runCliHere(command.split(' '), environmentWith(more));
  expect({ ...outcome, stdout: '' }).toEqual({ code: 0, stdout: '', stderr: '' });
  return outcome.stdout;
}

const responseTo = async <Result = Row>(command: string, more?: Record<string, string>): Promise<Result> =>
  JSON.parse(await textOf(command, more));

async function refusalOf(command: string): Promise<string> {
  const { code, stdout, stderr } = await runCliHere(command.split(' '), environmentWith());
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  return stderr.trimEnd();
}

const buy = async (): Promise<number> => (await customer.buy()).data?.order_id ?? 0;

async function insert(statement: string, ...parameters: unknown[]): Promise<number> {
  const [row] = await query<Row>(statement, parameters);
  if (!row) throw new Error('nothing was inserted');
  return row.id;
}

const orderInReview = async (): Promise<number> =>
  insert(
    `WITH reviewed AS (
       INSERT INTO orders (id, batch_id, user_id, kind, state, order_reference, country, version, period,
         count,
                           proxy_type, unit_price, hold_amount, provider, provider_price, sent_before,
                           next_search_at,
                           submitted_at)
       OVERRIDING SYSTEM VALUE
       SELECT next.id, next.id, user_id, kind, 'review', gen_random_uuid(), country, version, period, count,
              proxy_type, unit_price, hold_amount, provider, provider_price, sent_before, next_search_at,
              submitted_at
         FROM orders, nextval(pg_get_serial_sequence('orders', 'id')) AS next (id) WHERE orders.id = $1
       RETURNING id, user_id, hold_amount
     )
     INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta)
     SELECT user_id, 'hold', id, -hold_amount, hold_amount FROM reviewed
     RETURNING order_id AS id`,
    await buy(),
  );

const unmatchedProxy = (orderReference?: string): Promise<number> =>
  insertUnmatchedProxy(service.dataSource, orderReference);

const insertWebhook = (): Promise<number> =>
  insert(
    `INSERT INTO webhooks (user_id, url, secret) VALUES ($1, 'https://127.0.0.1/hooks', 'whsec_')
     RETURNING id`,
    customer.id,
  );

const foundProlongation = async (): Promise<number> =>
  insert(
    `INSERT INTO found_prolongations (proxy_id, date_end_before, date_end)
     SELECT id, date_end, date_end + interval '30 days' FROM proxies WHERE order_id = $1 RETURNING id`,
    await buy(),
  );

const unmatchedPayment = (): Promise<number> =>
  insert(
    `INSERT INTO payments (provider, payment_id, state, paid_amount, currency, paid_at, reason)
     VALUES ('sandbox', gen_random_uuid()::text, 'unmatched', 100, 'RUB', now(), 'no-deposit') RETURNING id`,
  );

function paidElsewhere(): string {
  const amount = { value: '100.00', currency: 'RUB' };
  const { id } = payments.shop.create(randomUUID(), { amount, metadata: {}, return_url: '' });
  payments.shop.pay(id);
  return id;
}

async function paidDeposit(): Promise<number> {
  const id = await insert(
    `INSERT INTO deposits (user_id, provider, amount, provider_payment_id, expires_at)
     VALUES ($1, 'sandbox', 100, gen_random_uuid()::text, now()) RETURNING id`,
    customer.id,
  );
  const payment = await insert(
    `INSERT INTO payments (provider, payment_id, deposit_id, state, paid_amount, currency, paid_at, reason)
     SELECT provider, provider_payment_id, id, 'unmatched', 100, 'RUB', now(), 'other-amount'
       FROM deposits WHERE id = $1 RETURNING id`,
    id,
  );
  await responseTo(`payments match --id ${payment} --user ${customer.id} ${REASON}`);
  return id;
}

const idOf = async (command: string): Promise<number> => (await responseTo(command)).id;
const newToken = () => idOf(`tokens create --user ${customer.id} --scopes profile:read`);
const newRule = () => idOf(`prices add --user ${customer.id} --markup 20 ${BY}`);
const optionsForUser = (more: string) => async () => `--user ${customer.id} ${more}`.trim();

async function leftRefund(): Promise<number> {
  const [refund] = await query<{ id: number }>(
    `INSERT INTO proxy_refunds (proxy_id, user_id, last_order_id, state, reason, next_check_at)
     SELECT id, user_id, order_id, 'staff', 'daily-sum', NULL
       FROM proxies WHERE order_id = $1 LIMIT 1 RETURNING id`,
    [await buy()],
  );
  return Number(refund?.id);
}

const COMMANDS: Readonly<Record<string, readonly [action: string, options: () => Promise<string>]>> = {
  'users create': ['users.create', async () => '--username walked'],
  'users list': ['users.search', async () => '--limit 1'],
  'users show': ['users.read', async () => `--id ${customer.id}`],
  'users block': ['users.block', optionsForUser(REASON)],
  'users unblock': ['users.unblock', optionsForUser(REASON)],
  'users erase': ['users.erase', optionsForUser(REASON)],
  'tokens create': ['tokens.create', optionsForUser('--scopes profile:read')],
  'tokens list': ['tokens.list', optionsForUser('')],
  'tokens descendants': ['tokens.descendants', async () => `--id ${await newToken()}`],
  'tokens revoke': ['tokens.revoke', async () => `--id ${await newToken()} ${REASON}`],
  'balance credit': ['balance.credit', optionsForUser(`--amount 1 --key walked-credit ${REASON}`)],
  'balance debit': ['balance.debit', optionsForUser(`--amount 1 --key walked-debit ${REASON}`)],
  'balance ledger': ['ledger.read', optionsForUser('--limit 1')],
  'balance statement': ['ledger.statement', optionsForUser(PERIOD)],
  'deposits list': ['deposits.search', optionsForUser('--state pending')],
  'deposits refund': [
    'deposits.refund',
    async () => `--id ${await paidDeposit()} --amount 10 --key walked-refund ${REASON}`,
  ],
  'deposits refunds': ['deposit-refunds.list', async () => '--state found'],
  'deposits decide': [
    'deposit-refunds.decide',
    async () => {
      const id = await insert(
        `INSERT INTO deposit_refunds (deposit_id, user_id, amount, state, provider)
         VALUES ($1, $2, 10, 'found', 'sandbox') RETURNING id`,
        await paidDeposit(),
        customer.id,
      );
      return `--id ${id} --as write-off ${REASON}`;
    },
  ],
  'deposits end-refund': [
    'deposit-refunds.end',
    async () => {
      const id = await insert(
        `INSERT INTO deposit_refunds (deposit_id, user_id, amount, state, provider)
         VALUES ($1, $2, 10, 'held', 'sandbox') RETURNING id`,
        await paidDeposit(),
        customer.id,
      );
      return `--id ${id} ${REASON}`;
    },
  ],
  'payments list': ['payments.list', async () => ''],
  'payments match': [
    'payments.match',
    async () => `--id ${await unmatchedPayment()} --user ${customer.id} ${REASON}`,
  ],
  'payments take': ['payments.take', async () => `--id ${paidElsewhere()} ${REASON}`],
  'payments reject': ['payments.reject', async () => `--id ${await unmatchedPayment()} ${REASON}`],
  'orders list': ['orders.search', optionsForUser('')],
  'orders show': ['orders.read', async () => `--id ${await buy()}`],
  'orders decide': ['orders.decide', async () => `--id ${await orderInReview()} --as cancel ${REASON}`],
  'orders refund': ['orders.refund', async () => `--id ${await buy()} --key walked ${REASON}`],
  'webhooks list': ['webhooks.list', async () => '--disabled'],
  'webhooks disable': ['webhooks.disable', async () => `--id ${await insertWebhook()} ${REASON}`],
  'webhooks enable': ['webhooks.enable', async () => `--id ${await insertWebhook()} ${REASON}`],
  'unmatched-proxies list': ['unmatched-proxies.list', async () => '--state open'],
  'unmatched-proxies assign': [
    'unmatched-proxies.assign',
    async () => `--id ${await unmatchedProxy()} --order ${await buy()} ${REASON}`,
  ],
  'unmatched-proxies mark': [
    'unmatched-proxies.mark',
    async () => `--id ${await unmatchedProxy()} --as written-off ${REASON}`,
  ],
  'unmatched-proxies deliver': [
    'unmatched-proxies.deliver',
    async () => {
      const id = await unmatchedProxy(`prs.test.u${customer.id}.o999x`);
      return `--id ${id} --user ${customer.id} --price 1.00 ${REASON}`;
    },
  ],
  'prolongations list': ['found-prolongations.list', async () => ''],
  'prolongations charge': [
    'found-prolongations.charge',
    async () => `--id ${await foundProlongation()} --price 1.00 ${REASON}`,
  ],
  'prolongations write-off': [
    'found-prolongations.write-off',
    async () => `--id ${await foundProlongation()} ${REASON}`,
  ],
  'maintenance show': ['maintenance.read', async () => ''],
  'maintenance end': [
    'maintenance.end',
    async () => {
      await query(
        `UPDATE unmatched_proxies SET resolution = 'written-off', resolved_at = now()
      WHERE resolution IS NULL`,
      );
      await query(
        `UPDATE found_prolongations SET resolution = 'written-off', resolved_at = now()
          WHERE resolution IS NULL`,
      );
      await query(`INSERT INTO maintenance (begun_at) VALUES ('2020-01-01')`);
      await query(
        `INSERT INTO completed_sweeps (began_at, listed) VALUES ('2020-01-02', 0), ('2020-01-03', 0)`,
      );
      return REASON;
    },
  ],
  'renewals list': ['renewals.list', async () => '--due'],
  'refunds list': ['refunds.list', async () => '--state staff'],
  'refunds shares': ['refunds.shares', async () => ''],
  'refunds file': ['refunds.file', async () => PERIOD],
  'refunds decide': ['refunds.decide', async () => `--id ${await leftRefund()} --as refuse ${REASON}`],
  'refunds rule': ['refund-rule.read', async () => ''],
  'refunds set-rule': [
    'refund-rule.set',
    async () =>
      '--as disabled --hours 72 --failed-checks 3 --minutes-between 10 --quota 3 --quota-percent 5 ' +
      `--quota-sum 500.00 --versions 6,4,4s --daily-sum 1000.00 ${REASON}`,
  ],
  'renewals show': ['renewals.read', async () => `--user ${customer.id}`],
  'renewals pause': ['renewals.pause', async () => `--user ${customer.id} --as running ${REASON}`],
  'renewals pause-all': ['renewals.pause-all', async () => `--as running ${REASON}`],
  'missing show': ['missing.read', async () => ''],
  'missing withdraw': [
    'missing.withdraw',
    async () => {
      await query('UPDATE proxies SET absences = 0');
      await query(
        'UPDATE proxies SET absences = 2 WHERE id = (SELECT id FROM proxies WHERE order_id = $1 LIMIT 1)',
        [await buy()],
      );
      return `--proxies 1 ${REASON}`;
    },
  ],
  'prices list': ['prices.list', async () => '--history'],
  'prices which': ['prices.which', async () => '--period 30'],
  'prices show': ['prices.read', async () => `--id ${await newRule()}`],
  'prices add': ['prices.add', async () => `--user ${customer.id} --markup 20 ${BY}`],
  'prices preview': [
    'prices.preview',
    async () => {
      await customer.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
      return '--markup 20';
    },
  ],
  'prices end': ['prices.end', async () => `--id ${await newRule()} ${BY}`],
  status: ['status.read', async () => ''],
  sales: ['sales.read', async () => '--from 2026-01-01 --to 2026-02-01'],
  'actions list': ['actions.search', async () => '--target user:1 --limit 1'],
};

const CREATED: Readonly<Record<string, string>> = {
  'users.create': 'user',
  'tokens.create': 'token',
  'prices.add': 'price-rule',
  'deposits.refund': 'user',
  'deposit-refunds.decide': 'user',
  'deposit-refunds.end': 'user',
  'payments.match': 'user',
};

function routesOfStaff(): AuditedRoute[] {
  return [StaffModule, StaffPaymentsModule]
    .flatMap((module) => Reflect.getMetadata('controllers', module) as { prototype: object }[])
    .flatMap(({ prototype }) => Object.values(Object.getOwnPropertyDescriptors(prototype)))
    .map(({ value }) => typeof value === 'function' && Reflect.getMetadata(AUDITED_ROUTE, value))
    .filter((route) => route);
}

function namesOf(command: Command, before: readonly string[] = []): string[] {
  return command.commands.flatMap((one) => {
    const words = [...before, one.name()];
    return one.commands.length > 0 ? namesOf(one, words) : [words.join(' ')];
  });
}

describe('The command line', () => {
  it('has exactly the use cases that staff have over HTTP', () => {
    const overHttp = routesOfStaff().map(({ action }) => action);
    expect(overHttp.length).toBeGreaterThan(20);
    const actions = Object.values(COMMANDS).map(([action]) => action);
    expect([...actions, ...OVER_HTTP_ALONE].sort()).toEqual(overHttp.sort());
    expect([...Object.keys(COMMANDS), ...ON_THE_COMMAND_LINE_ALONE].sort()).toEqual(
      namesOf(createCli()).sort(),
    );
  });

  it('prints the same help from its outline, without loading the service', () => {
    const cli = createCli();
    const outline = JSON.parse(JSON.stringify(outlineOf(cli))) as Outline;
    const outlined = addOutlined(emptyCli(), outline, () => undefined);
    const helpOf = (command: Command): string[] => [
      command.helpInformation(),
      ...command.commands.flatMap(helpOf),
    ];
    expect(helpOf(outlined)).toEqual(helpOf(cli));
  });

  it.each(Object.entries(COMMANDS))(
    'is recorded with the action and target of the route: %s',
    async (command, [action, optionsOf]) => {
      const options = await optionsOf();
      const [before] = await query<Row>('SELECT max(id) AS id FROM audit_log');
      // The others call no provider.
      await textOf(`${command} ${options}`.trim(), command === 'payments take' ? provider() : undefined);
      const target = routesOfStaff().find((route) => route.action === action)?.on;
      const recorded = await query('SELECT via, user_id, action, target_type FROM audit_log WHERE id > $1', [
        before?.id ?? 0,
      ]);
      const target_type = CREATED[action] ?? target ?? null;
      expect(recorded).toEqual([{ via: 'cli', user_id: null, action, target_type }]);
    },
  );
});

describe('A command', () => {
  it('delivers an order in review with what the provider has of it', async () => {
    const id = await orderInReview();
    const decide = `orders decide --id ${id} --as deliver ${REASON}`;
    const [order] = await query<{ orderReference: string }>(
      'SELECT order_reference AS "orderReference" FROM orders WHERE id = $1',
      [id],
    );
    await service.wire.call(`buy/?count=1&period=30&country=ru&version=6&descr=${order?.orderReference}`);
    expect(await refusalOf(decide)).toContain('PX6_API_KEY is missing');
    expect(await responseTo(decide, provider())).toMatchObject({ id, state: 'completed' });
    expect(await refusalOf(`orders decide --id ${id} --as cancel ${REASON}`)).toBe(
      'The order is not in review',
    );
  });

  it('moves money once for each key', async () => {
    const { id } = await responseTo('users create --username paid');
    const credit = `balance credit --user ${id} --amount 5 --key c-1 ${REASON}`;
    const [one, other] = [await responseTo(credit), await responseTo(credit)];
    expect(one).toMatchObject({ replayed: false });
    expect(other).toEqual({ ...one, replayed: true });
    expect(await responseTo(`users show --id ${id}`)).toMatchObject({ id, balance: '5.00', held: '0.00' });
    expect(await refusalOf(`balance debit --user ${id} --amount 5 --key c-1 ${REASON}`)).toBe(
      'Idempotency-Key was used with another request',
    );
    expect(await refusalOf(credit.replace(' --key c-1', ''))).toBe(
      `error: required option '--key <text>' not specified`,
    );
    expect(await refusalOf(credit.replace('--amount 5', '--amount -1'))).toBe(
      `error: option '--amount <roubles>' argument '-1' is invalid. Input should be greater than 0.`,
    );
    expect(await refusalOf(credit.replace('c-1', 'ключ'))).toContain(
      'Idempotency-Key should be 1 to 255 visible ASCII characters',
    );
  });

  it('prints the same statement as HTTP returns', async () => {
    const staff = await createStaff(service, ['staff:balance']);
    const period = new URLSearchParams({ from: '2026-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' });
    const path = `/staff/users/${customer.id}/statement?${period.toString()}`;
    const { body: file } = await staff.get<string>(path);
    expect(file).toContain('topup,10000.00');
    expect(await textOf(`balance statement --user ${customer.id} ${PERIOD}`)).toBe(file);
    expect(await refusalOf(`balance statement --user 999999 ${PERIOD}`)).toBe('User not found');
  });
});
