import { randomBytes } from 'node:crypto';
import { ALL_SCOPES, ALL_STAFF_SCOPES } from '../src/auth';
import { EventReadingService } from '../src/events/reading/event-reading.service';
import { UsersService } from '../src/users';
import { eventually } from './support/built-service';
import { openEventStream } from './support/event-stream';
import { beforeClosing, forAllTests } from './support/fixtures';
import { createStaff, type StaffResponse } from './support/staff';
import { lockRow, untilWaiting } from './support/table-lock';
import { sharedTestService, type TestUser, testUser } from './support/test-service';

interface Erasure {
  readonly detail?: string;
  readonly dry_run: boolean;
  readonly running_proxies: number;
  readonly open: readonly string[];
  readonly data: readonly { readonly table: string; readonly effect: string; readonly rows: number }[];
}

const service = forAllTests(sharedTestService);
const staff = forAllTests(() => createStaff(service, [...ALL_SCOPES, ...ALL_STAFF_SCOPES]));
beforeClosing(() => service.audit());

const query = <Row = Record<string, unknown>>(sql: string, parameters: unknown[] = []): Promise<Row[]> =>
  service.owner.query<Row[]>(sql, parameters);
const erase = (user: Pick<TestUser, 'id'>, runningProxies?: number): Promise<StaffResponse<Erasure>> =>
  staff.post<Erasure>(`/staff/users/${user.id}/erase`, {
    reason: 'asked by mail',
    ...(runningProxies !== undefined && { running_proxies: runningProxies }),
  });

/** Tables whose rows of the user are deleted. */
const DELETED = `blocked_receivers bulk_prolongations events export_links oauth_codes oauth_grants
  proxy_checks renewal_settings webhook_attempts webhook_deliveries written_off_requests`;

/** Columns that are cleared, by table. */
const CLEARED: Readonly<Record<string, string>> = {
  accounts: 'low_balance',
  api_tokens: 'name allowed_ips last_used_at',
  audit_log: 'request reason before after',
  deposit_refunds: 'request',
  deposits: 'idempotency_key request_hash receipt_email request payment_url',
  orders: 'label request_id delivered_proxies idempotency_key request_hash',
  proxies: 'label tags',
  renewal_rules: 'label tag',
  users: 'username tg_id telegram_username web_username has_app blocked_at blocked_reason',
  webhooks: 'url types description secret previous_secret previous_secret_until',
};

/** Columns that stay, by table: ids, times, states and the books. None contains a text of the customer. */
const KEPT: Readonly<Record<string, string>> = {
  accounts: 'user_id available held spent seq',
  api_tokens: `id user_id token_hash scopes origin issued_by daily_limit limited_by created_at expires_at
    revoked_at text_expires_at`,
  audit_log: `id at via user_id token_id action target_type target_id refusal ip request_id idempotency_key
    request_hash`,
  deposit_refunds: `id deposit_id user_id amount state provider refund_key receipt_registration
    provider_refund_id provider_reason reason action_id created_at first_sent_at sent_at may_be_made
    end_action_id next_try_at closed_at`,
  deposits: `id user_id provider amount state payment_key receipt_registration provider_payment_id
    provider_reason refunded created_at expires_at read_at next_read_at closed_at`,
  found_prolongations: 'id proxy_id date_end_before date_end found_at resolution resolved_at order_id',
  ledger_entries: `id user_id seq kind order_id payment_id refund_id proxy_refund_id available_delta
    held_delta available_after held_after reason reference action_id created_at`,
  orders: `id user_id kind state history country version period count proxy_type proxy_id unit_price
    markup_percent price_rule_id max_price hold_amount captured released refunded origin token_id
    key_forgotten found_count failure provider order_reference batch_id resent attempt claim
    provider_price provider_charge provider_order_id date_end_before end_read_at created_at
    queued_until sent_before submitted_at next_search_at searches nothing_seen_since closed_at`,
  payments: `id provider payment_id deposit_id state user_id amount paid_amount currency paid_at reason
    details request_hash created_at closed_at action_id`,
  price_rules: `id user_id country version min_period max_period markup_percent valid_from valid_to created_at
    created_by reason ended_at ended_by end_reason`,
  provider_calls: 'id order_id method request outcome http_status response duration_ms created_at',
  proxies: `id user_id order_id provider provider_proxy_id order_reference assigned_action_id host port login
    password proxy_type country version period date_start date_end reminded_hours active announced_end
    absences withdrawn_at refunded_at created_at`,
  proxy_changes: 'id proxy_id user_id at kind before after',
  proxy_refunds: `id proxy_id user_id last_order_id state reason requested_at failures failed_at
    next_check_at amount action_id closed_at deletion_began_at next_deletion_at deleted_at`,
  proxy_type_changes: 'proxy_id attempt attempt_until settled_at',
  renewal_rules: 'id user_id proxy_id country period max_price hours_before created_at disabled_at',
  renewals: `id user_id proxy_id date_end_before rule_id order_id state reason period price due_at next_try_at
    tries last_reminded_days charged_at created_at closed_at`,
  token_spending: 'token_id day spent day_limit',
  users: 'id created_at deleted_at proxies_revision',
  webhooks: `id user_id created_at since_position failures_in_a_row failing_since paused_until disabled_at
    disabled_reason deleted_at`,
};

const words = (text = ''): string[] => text.split(/\s+/).filter(Boolean);

it('Each column of a table that leads to a user is known to be erased or kept', async () => {
  const columns = await query<{ table: string; columns: string[] }>(
    `WITH RECURSIVE path (id) AS (
       SELECT attrelid FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
          AND (relname = 'users' OR attname IN ('user_id', 'token_id', 'order_id', 'proxy_id', 'webhook_id'))
       UNION
       SELECT conrelid FROM pg_constraint JOIN path ON confrelid = path.id WHERE contype = 'f'
     )
     SELECT relname AS table, array_agg(attname::text ORDER BY attname::text) AS columns
       FROM path JOIN pg_class ON oid = id JOIN pg_attribute ON attrelid = id
      WHERE attnum > 0 AND NOT attisdropped AND relname <> ALL ($1)
      GROUP BY relname ORDER BY relname`,
    [words(DELETED)],
  );
  const known = Object.keys(KEPT).map((table) => ({
    table,
    columns: words(`${KEPT[table]} ${CLEARED[table] ?? ''}`).sort(),
  }));
  expect(columns).toEqual(known);
});

const mark = `mark${randomBytes(6).toString('hex')}`;
const tgId = 7_000_000_000 + (Date.now() % 1_000_000_000);
const network = '203.0.113.77';
const threshold = '7654321.09';

/** The columns that contain a mark. */
async function marked(): Promise<string[]> {
  const tables = await query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  );
  const found = await query<{ place: string }>(
    tables
      .map(
        ({ name }) => `
          SELECT DISTINCT '${name}.' || field.key AS place
            FROM ${name} AS one, jsonb_each_text(to_jsonb(one)) AS field WHERE field.value ~* $1`,
      )
      .join(' UNION ALL '),
    [[mark, tgId, network, threshold].join('|').replaceAll('.', String.raw`\.`)],
  );
  return found.map(({ place }) => place).sort();
}

const ERASED_MARKS = words(`
  accounts.low_balance api_tokens.allowed_ips api_tokens.name audit_log.after audit_log.before
  blocked_receivers.receiver bulk_prolongations.idempotency_key deposit_refunds.request
  deposits.idempotency_key deposits.payment_url deposits.receipt_email deposits.request events.data
  export_links.name export_links.filter export_links.networks export_links.template
  oauth_codes.challenge oauth_codes.client_id oauth_codes.client_name oauth_codes.redirect_uri orders.label
  orders.idempotency_key orders.request_id orders.delivered_proxies proxies.label proxies.tags
  proxy_checks.exit_address renewal_rules.label renewal_rules.tag renewal_settings.paused_reason
  users.telegram_username users.tg_id users.username users.web_username webhook_attempts.response
  webhooks.description webhooks.url written_off_requests.idempotency_key`);
const KEPT_MARKS = words(`
  audit_log.idempotency_key audit_log.reason audit_log.request deposit_refunds.reason
  ledger_entries.reason ledger_entries.reference price_rules.reason proxy_refunds.reason`);

const books = () =>
  query(
    `SELECT (SELECT json_agg(one ORDER BY user_id) FROM (
               SELECT user_id, available, held, spent, seq FROM accounts) AS one) AS accounts,
            (SELECT json_agg(one ORDER BY id) FROM ledger_entries one) AS entries,
            (SELECT json_agg(one ORDER BY id) FROM (
               SELECT id, state, hold_amount, captured, released, refunded FROM orders) AS one) AS orders`,
  );

async function post<Body = Record<string, unknown>>(path: string, body: object, key?: string): Promise<Body> {
  const response = await staff.post<Body>(path, body, key === undefined ? {} : { 'Idempotency-Key': key });
  expect(`${path}: ${response.status}`).toMatch(/: 20[01]$/);
  return response.body;
}

describe('A customer who has left a mark everywhere', () => {
  let user: TestUser;
  let newOrder: number | undefined;

  /** The user's rows in tables into which requests cannot write after an erasure. */
  async function rowsOfTriggers(): Promise<Record<string, Record<string, unknown>[]>> {
    const tables = await query<{ name: string }>(
      `SELECT tgrelid::regclass::text AS name FROM pg_trigger WHERE tgfoid = 'refuse_erased_user'::regproc`,
    );
    const names = tables.map(({ name }) => name).sort();
    expect(names).toEqual([
      'accounts',
      'api_tokens',
      'blocked_receivers',
      'bulk_prolongations',
      'deposits',
      'export_links',
      'oauth_codes',
      'proxies',
      'proxy_checks',
      'proxy_refunds',
      'renewal_rules',
      'renewal_settings',
      'webhooks',
    ]);
    const rows = names.map(async (name) => {
      const found = await query<{ row: Record<string, unknown> }>(
        `SELECT to_jsonb(one) AS row FROM ${name} AS one WHERE user_id = $1`,
        [user.id],
      );
      return [name, found.map(({ row }) => row)] as const;
    });
    return Object.fromEntries(await Promise.all(rows));
  }

  beforeAll(async () => {
    const { id } = await post<{ id: number }>('/staff/users', {
      username: `${mark} name`,
      tg_id: tgId,
      web_username: `${mark}@example.org`,
    });
    await staff.get(`/staff/users?query=${mark.slice(0, 12)}`);
    await post(`/staff/users/${id}/block`, { reason: mark });
    await post(`/staff/users/${id}/unblock`, { reason: mark });
    const { token } = await post<{ token: string }>(`/staff/users/${id}/tokens`, {
      scopes: ALL_SCOPES,
      name: mark,
      allowed_ips: ['127.0.0.0/8', `${network}/32`],
    });
    user = testUser(service.baseUrl, id, token);
    await post(`/staff/users/${id}/credit`, { amount: '1000.00', reason: mark }, `credit-${mark}`);
    const { data } = await user.buy({}, mark);
    newOrder = data?.order_id ?? undefined;
    const proxyId = Number(data?.proxies[0]?.id);
    const { available } = await service.balanceOf(user);
    await post(
      `/staff/users/${id}/debit`,
      { amount: available, reason: mark, reference: mark },
      `debit-${mark}`,
    );
    const created = await user.api.POST('/webhooks', {
      body: { url: `https://${mark}.example.org/${mark}`, description: mark },
    } as never);
    const { id: webhookId } = created.data as unknown as { id: number };
    await post(`/staff/webhooks/${webhookId}/disable`, { reason: mark });
    await eventually(async () => {
      const rows = await query('SELECT FROM events WHERE user_id = $1 AND position IS NULL', [id]);
      return rows.length === 0;
    });
    await service.owner.transaction(async (owner) => {
      const run = (sql: string, ...more: unknown[]) => owner.query(sql, [mark, id, ...more]);
      await run(`UPDATE users SET telegram_username = $1 WHERE id = $2`);
      await run(`UPDATE accounts SET low_balance = $3 WHERE user_id = $2 AND $1 <> ''`, threshold);
      await run(`UPDATE proxies SET label = $1, tags = ARRAY[$1] WHERE id = $3 AND user_id = $2`, proxyId);
      await run(
        `UPDATE orders SET request_id = $1, label = $1, delivered_proxies = to_jsonb(ARRAY[$1])
          WHERE user_id = $2`,
      );
      await run(
        `INSERT INTO export_links (user_id, token_id, secret_hash, name, template, filter, networks)
         SELECT $2, max(id), sha256(convert_to($1, 'UTF8')), $1, $1, jsonb_build_object('label', $1::text),
                ARRAY[$3::cidr]
           FROM api_tokens WHERE user_id = $2`,
        network,
      );
      await run(`INSERT INTO renewal_rules (user_id, label, tag, period) VALUES ($2, $1, $1, 30)`);
      await run(`INSERT INTO renewal_settings (user_id, paused_at, paused_reason) VALUES ($2, now(), $1)`);
      await run(
        `INSERT INTO bulk_prolongations (user_id, idempotency_key, request_hash, proxy_ids)
         VALUES ($2, $1, '', ARRAY[$3::bigint])`,
        proxyId,
      );
      await run(
        `INSERT INTO written_off_requests (user_id, idempotency_key, request_hash, proxy_id, days)
         VALUES ($2, $1, '', $3, 30)`,
        proxyId,
      );
      await run(
        `INSERT INTO proxy_checks (proxy_id, user_id, works, exit_address) VALUES ($3, $2, $1 <> '', $4)`,
        proxyId,
        network,
      );
      await run(
        `INSERT INTO proxy_refunds (proxy_id, user_id, last_order_id, state, reason, next_check_at, closed_at)
         VALUES ($3, $2, $4, 'refused', $1, NULL, now())`,
        proxyId,
        newOrder,
      );
      await run(
        `INSERT INTO oauth_codes (code_hash, client_id, client_name, redirect_uri, challenge, user_id,
                                  issuer_id, scopes, token_expires_at, expires_at)
         VALUES ('', $1, $1, $1, $1, $2, 1, '{}', now(), now())`,
      );
      await run(
        `INSERT INTO price_rules (user_id, markup_percent, valid_from, created_by, reason)
         VALUES ($2, 900, now() - interval '1 minute', 'test', $1)`,
      );
      await run(
        `WITH deposit AS (
           INSERT INTO deposits (user_id, provider, amount, state, idempotency_key, request_hash,
                                 receipt_email, request, payment_url, expires_at, closed_at)
           VALUES ($2, 'sandbox', 100, 'canceled', $1, '', $1, $1, $1, now(), now()) RETURNING id, user_id
         )
         INSERT INTO deposit_refunds (deposit_id, user_id, amount, state, provider, request, reason,
                                      closed_at)
         SELECT id, user_id, 10, 'failed', 'sandbox', $1, $1, now() FROM deposit`,
      );
      await run(
        `WITH delivery AS (
           INSERT INTO webhook_deliveries (webhook_id, event_id, state, next_attempt_at, closed_at)
           SELECT $3, min(id), 'failed', NULL, now() FROM events WHERE user_id = $2
           ON CONFLICT (event_id, webhook_id) DO UPDATE SET attempts = 1 RETURNING id, webhook_id
         )
         INSERT INTO webhook_attempts (delivery_id, webhook_id, status, duration_ms, response)
         SELECT id, webhook_id, 500, 1, $1 FROM delivery`,
        webhookId,
      );
    });
  });

  it('is erased when nothing is open, refuses writes in progress, and keeps the books', async () => {
    expect(await marked()).toEqual([...ERASED_MARKS, ...KEPT_MARKS].sort());

    // Something is open, or the number of proxies was not shown.
    const { id: rich } = await service.createUser({ balance: '1.00' });
    expect((await erase({ id: rich })).body).toMatchObject({ dry_run: true, open: ['balance'] });
    expect(await erase({ id: rich }, 0)).toMatchObject({
      status: 409,
      body: { detail: 'The user cannot be erased before these are closed: balance' },
    });
    expect((await erase({ id: staff.id }, 0)).body.detail).toMatch('closed: staff');
    expect((await erase({ id: 999_999_999 }, 0)).status).toBe(404);
    expect((await erase(user, 0)).status).toBe(409);

    // The erasing session is killed before its commit.
    const lock = `SELECT FROM events WHERE user_id = ${user.id} FOR UPDATE`;
    let held = await lockRow(service.owner, lock);
    let erasing = erase(user, 1);
    await untilWaiting(service.owner, 'DELETE FROM events');
    await query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'
          AND strpos(query, 'DELETE FROM events') > 0`,
    );
    await held.release();
    expect((await erasing).status).toBe(503);
    expect(await marked()).toEqual([...ERASED_MARKS, ...KEPT_MARKS].sort());

    const { body: dryRun } = await erase(user);
    expect(dryRun).toMatchObject({ dry_run: true, open: [], running_proxies: 1 });
    const before = await books();
    const rowsBefore = await rowsOfTriggers();
    const stream = await openEventStream(service.baseUrl, '/events', user);
    held = await lockRow(service.owner, lock);
    erasing = erase(user, 1);
    await untilWaiting(service.owner, 'DELETE FROM events');

    // These requests passed the check of their token before the erasure commits.
    const { api } = user;
    const labelled = api.PATCH('/proxies', {
      body: { proxy_ids: [String(rowsBefore['proxies']?.[0]?.['id'])], descr: mark },
    } as never) as Promise<{ response: Response }>;
    const signIn = service.dataSource.transaction((manager) =>
      service.app.get(UsersService).recordApp({ tgId, username: mark }, manager),
    );
    const issued = staff.post(`/staff/users/${user.id}/tokens`, { scopes: ['profile:read'] });
    await untilWaiting(service.owner, '', 4);
    await held.release();

    const { body } = await erasing;
    expect(body).toEqual({ ...dryRun, dry_run: false });
    expect((await labelled).response.status).toBe(503);
    expect((await issued).status).toBe(404);
    expect(await signIn).toBeNull();
    expect(await marked()).toEqual(KEPT_MARKS);
    expect(await books()).toEqual(before);

    // Writes of other requests in progress are refused as well.
    for (const [table, [row]] of Object.entries(rowsBefore)) {
      const write = { accounts: 'SET low_balance = 1', proxies: `SET tags = '{late}'` }[table] ?? null;
      const written =
        write === null
          ? query(`INSERT INTO ${table} SELECT * FROM jsonb_populate_record(NULL::${table}, $1)`, [
              { ...row, ...(table === 'proxy_refunds' && { state: 'checking' }) },
            ])
          : query(`UPDATE ${table} ${write} WHERE user_id = $1`, [user.id]);
      await expect(written).rejects.toThrow('the data of this user was erased');
    }

    expect((await api.GET('/me', {})).response.status).toBe(401);
    await service.app.get(EventReadingService).recheckAll();
    await stream.ended();
    const { body: shown } = await staff.get(`/staff/users/${user.id}`);
    expect(shown).toMatchObject({ id: user.id, username: null, tg_id: null, deleted_at: expect.any(String) });
    expect((await post<{ id: number }>('/staff/users', { username: 'again', tg_id: tgId })).id).not.toBe(
      user.id,
    );
    await query('UPDATE users SET tg_id = NULL WHERE tg_id = $1', [tgId]);

    // The columns are empty, and lines of the audit log contain no texts.
    for (const [table, columns] of Object.entries(CLEARED)) {
      if (table === 'audit_log') continue;
      const rows = await query<{ key: string; value: string | null }>(
        `SELECT DISTINCT field.key, field.value FROM ${table} AS one, jsonb_each_text(to_jsonb(one)) AS field
          WHERE one.${table === 'users' ? 'id' : 'user_id'} = $1 AND field.key = ANY ($2)`,
        [user.id, words(columns)],
      );
      expect(rows.filter(({ value }) => ![null, '', '[]', 'false'].includes(value))).toEqual([]);
    }
    const lines = await query<{ action: string; isPosting: boolean }>(
      `SELECT DISTINCT action, idempotency_key IS NOT NULL AS "isPosting" FROM audit_log
        WHERE to_jsonb(audit_log)::text ~ $1 ORDER BY action`,
      [mark],
    );
    expect(lines).toEqual(['balance.credit', 'balance.debit'].map((action) => ({ action, isPosting: true })));
    const { body: actions } = await staff.get<{ items: { action: string }[] }>(
      `/staff/actions?target=user:${user.id}&changes_only=true`,
    );
    expect(actions.items.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['users.create', 'users.block', 'balance.credit', 'users.erase']),
    );
    // The refused request of staff for a token was recorded after the erasure.
    await erase(user, 1);
    const { body: again } = await erase(user, 1);
    expect(again.data.filter(({ effect, rows: left }) => effect !== 'kept' && left > 0)).toEqual([]);
    await query(
      `UPDATE price_rules SET valid_to = now(), ended_at = now(), ended_by = $2, end_reason = $2
        WHERE user_id = $1`,
      [user.id, 'test'],
    );
  });
});

it('A user is not erased if money arrives while the erasure waits for the account', async () => {
  const poor = await service.createUser({ balance: '0.00' });
  const crediting = service.owner.createQueryRunner();
  await crediting.startTransaction();
  await crediting.query(
    `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, reason)
     VALUES ($1, 'topup', 5, 0, 'x')`,
    [poor.id],
  );
  const erasing = erase(poor, 0);
  await untilWaiting(service.owner, 'lock_accounts');
  await crediting.commitTransaction();
  await crediting.release();
  expect(await erasing).toMatchObject({ status: 409, body: { detail: expect.stringMatching('balance') } });
  expect((await poor.api.GET('/me', {})).response.status).toBe(200);
});
