import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { DataSource } from 'typeorm';
import { createApplication } from '../src/application';
import { ALL_STAFF_SCOPES, TokensService } from '../src/auth';
import { readEnvironment, resolveConfig } from '../src/config';
import { migrate, queryRows } from '../src/database';
import { UsersService } from '../src/users';
import { addStaffData } from './seeding/staff-data';
import { parseOptions, progress, run } from './support/command';
import { markdownTable, milliseconds } from './support/markdown';
import { explain, recordStatements } from './support/statement-plans';
import { median } from './support/statistics';

/**
 * `npm run bench:staff -- --database-url …`: measures the lists and searches of the staff API on a database
 * that `bench:seed` has filled. Takes a minute. The first run needs `--fill`, which adds a busy customer and
 * a long audit log and leaves the books inconsistent.
 */

const REQUESTS = 20;
const AUDIT_LOG_ENTRIES = 3_000_000;
const BUSY_ORDERS = 300_000;

/** An unreachable provider and no jobs: the orders of a seeded database must not be reconciled. */
const SERVICE_SETTINGS = {
  PX6_API_KEY: 'none',
  PX6_BASE_URL: 'http://127.0.0.1:1',
  LOG_LEVEL: 'error',
  TOKEN_REQUESTS_PER_MINUTE: '0',
  USER_REQUESTS_PER_MINUTE: '0',
  SWEEP_INTERVAL_SECONDS: '86400',
  ACTIVE_FLAGS_INTERVAL_SECONDS: '86400',
  AUDIT_TIME: 'off',
};

/** The route's own reads, without authentication, the audit log and background work. */
const OF_THE_ROUTE =
  /^\s*SELECT(?!.*(token_hash = |installation|catalogue_copies|provider_accounts|price_rules|job_runs|replica))/s;

/** Sample values by name. A "common" value is the most frequent one. */
const SAMPLES = `
  SELECT (SELECT user_id FROM accounts ORDER BY seq DESC LIMIT 1) AS busy,
         (SELECT user_id FROM orders WHERE id = middle.id) AS someone,
         middle.id AS "order", middle.tag, middle.request_id, provider_order_id,
         (SELECT provider_proxy_id FROM proxies WHERE order_id = middle.id LIMIT 1) AS proxy,
         (SELECT host FROM proxies WHERE order_id = middle.id LIMIT 1) AS host,
         (SELECT (most_common_vals::text::text[])[1] FROM pg_stats WHERE tablename = 'proxies'
          AND attname = 'host') AS "common host",
         (SELECT left(username, 4) FROM users WHERE id = middle.user_id) AS part,
         (SELECT id FROM users ORDER BY id DESC OFFSET 100000 LIMIT 1) AS "old user",
         to_char(middle.created_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "from",
         to_char(middle.created_at + interval '1 day', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "to",
         (SELECT to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') FROM staff_actions ORDER BY at DESC OFFSET 100000
          LIMIT 1) AS "log from",
         (SELECT to_char(at + interval '1 day', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') FROM staff_actions
          ORDER BY at DESC OFFSET 100000 LIMIT 1) AS "log to",
         (SELECT id FROM orders WHERE created_at < middle.created_at ORDER BY created_at DESC LIMIT 1)
             AS "old order",
         (SELECT group_id FROM orders WHERE group_id <> id LIMIT 1) AS grouped,
         (SELECT tag FROM orders WHERE id = (SELECT group_id FROM orders WHERE group_id <> id LIMIT 1))
             AS "group's tag"
    FROM (SELECT * FROM orders WHERE kind = 'purchase' AND state = 'completed'
          AND user_id < (SELECT max(id) FROM users)
             AND created_at < (SELECT max(created_at) - interval '60 days' FROM orders)
                 ORDER BY created_at DESC LIMIT 1) AS middle`;

/** Names in braces are replaced by sample values. */
const ROUTES: readonly string[] = [
  '/users',
  '/users?cursor={old user}',
  '/users?query={part}',
  '/users?query=an',
  '/users?query=a',
  '/users?query=7',
  '/users?query=qz',
  '/users?query=zzzzzz',
  '/users?query=98765432',
  '/users?query=legacy',
  '/users?query=an&cursor={old user}',
  '/users/{someone}',
  '/users/{busy}',
  '/users/{someone}/tokens',
  '/users/{busy}/tokens',
  '/users/{someone}/ledger',
  '/users/{busy}/ledger?limit=200',
  '/users/{busy}/statement?from={from}&to={to}',
  '/orders',
  '/orders?limit=200&cursor={old order}',
  '/orders?user_id={someone}',
  '/orders?user_id={busy}',
  '/orders?state=review',
  '/orders?state=refunded',
  '/orders?state=partial',
  '/orders?state=reserved',
  '/orders?state=completed',
  '/orders?kind=prolongation',
  '/orders?from={from}&to={to}',
  '/orders?tag={tag}',
  "/orders?tag={group's tag}",
  '/orders?provider_order_id={provider_order_id}',
  '/orders?provider_proxy_id={proxy}',
  '/orders?host={host}',
  '/orders?host={common host}',
  '/orders?request_id={request_id}',
  '/orders?user_id={someone}&state=completed',
  '/orders?user_id={busy}&state=review',
  '/orders?user_id={busy}&state=partial',
  '/orders?user_id={busy}&kind=prolongation',
  '/orders?user_id={busy}&from={from}&to={to}',
  '/orders?state=partial&from={from}&to={to}',
  '/orders?state=completed&from={from}&to={to}',
  '/orders?state=refunded&kind=prolongation',
  '/orders?state=review&kind=purchase',
  '/orders?host={common host}&state=review',
  '/orders?host={host}&user_id={someone}',
  '/orders?host={common host}&user_id={busy}&from={from}&to={to}',
  '/orders/{order}',
  '/orders/{grouped}',
  '/actions',
  '/actions?user_id=2',
  '/actions?action=orders.read',
  '/actions?target=user:{someone}',
  '/actions?from={log from}&to={log to}',
  '/actions?user_id=2&action=balance.credit',
  '/actions?user_id=2&action=users.read',
  '/actions?user_id=2&target=user:{someone}',
  '/actions?user_id=2&from={log from}&to={log to}',
  '/actions?action=balance.credit&from={log from}&to={log to}',
  '/actions?action=balance.credit&target=user:{someone}',
];

async function main(): Promise<void> {
  const values = parseOptions({
    'database-url': { type: 'string' },
    fill: { type: 'boolean', default: false },
    only: { type: 'string' },
  });
  const databaseUrl = values['database-url'];
  if (databaseUrl === undefined) throw new Error('--database-url is missing');
  await migrate({ url: databaseUrl });
  if (values.fill) await addStaffData(databaseUrl, AUDIT_LOG_ENTRIES, BUSY_ORDERS);
  const environment = readEnvironment({ ...SERVICE_SETTINGS, DATABASE_URL: databaseUrl });
  const provider = { apiKey: SERVICE_SETTINGS.PX6_API_KEY, baseUrl: SERVICE_SETTINGS.PX6_BASE_URL };
  const app = await createApplication(resolveConfig(environment, databaseUrl, provider));
  try {
    await app.listen(0, '127.0.0.1');
    const baseUrl = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}/staff`;
    const dataSource = app.get(DataSource);
    const { id } = await app.get(UsersService).create({ username: 'bench' });
    const { text } = await app.get(TokensService).issue({ userId: id, scopes: ALL_STAFF_SCOPES });
    const ask = async (path: string): Promise<number> => {
      const begun = performance.now();
      const answer = await fetch(baseUrl + path, { headers: { Authorization: `Bearer ${text}` } });
      await answer.text();
      if (answer.status !== 200) throw new Error(`${path} got response ${answer.status}`);
      return performance.now() - begun;
    };
    const [samples = {}] = await queryRows<Record<string, string | number | null>>(dataSource, SAMPLES);
    const rows: string[][] = [];
    for (const route of ROUTES.filter((one) => one.includes(values.only ?? ''))) {
      const path = route.replaceAll(/\{([^}]+)\}/g, (_, name: string) =>
        encodeURIComponent(String(samples[name])),
      );
      const sent = recordStatements(dataSource);
      const first = await ask(path);
      const asked = [...sent.values()].filter((statement) => OF_THE_ROUTE.test(statement.text));
      const plans = [];
      for (const statement of asked) plans.push(await explain(dataSource, statement));
      const times: number[] = [];
      for (let n = 0; n < REQUESTS; n += 1) times.push(await ask(path));
      const reads = [...new Set(plans.flatMap((plan) => plan.reads))].join(', ');
      const executionMs = plans.reduce((sum, plan) => sum + plan.executionMs, 0);
      const row = [
        `\`${route}\``,
        reads,
        milliseconds(executionMs),
        milliseconds(first),
        milliseconds(median(times)),
      ];
      progress(row.join(' | '));
      rows.push(row);
    }
    const head = ['GET /staff', 'reads', 'in the database', 'first request', `median of ${REQUESTS}`];
    process.stdout.write(`${markdownTable(head, rows)}\n`);
  } finally {
    await app.close();
  }
}

void run(main);
