import type { Client } from 'pg';
import type { IntegrityReport } from '../src/integrity';
import type { Outcome } from './support/built-service';
import { runCliHere } from './support/cli';
import { forAllTests } from './support/fixtures';
import { connectClient, createTestDatabase } from './support/test-database';

interface OrderRow {
  readonly kind?: 'purchase' | 'prolongation';
  readonly state: 'reserved' | 'completed' | 'partial' | 'canceled';
  readonly count?: number;
  readonly delivered?: number;
  readonly proxyId?: number;
  readonly idempotencyKey?: string;
  readonly ageHours?: number;
  /** The user whose account pays; null: no ledger entries are written. */
  readonly payer?: number | null;
}

class Books {
  constructor(private readonly client: Client) {}

  async query(sql: string, ...parameters: unknown[]): Promise<void> {
    await this.client.query(sql, parameters);
  }

  async deposit(id: number, userId: number, state: string): Promise<void> {
    await this.query(
      `INSERT INTO deposits (id, user_id, provider, amount, state, provider_payment_id, expires_at, closed_at)
       VALUES ($1::bigint, $2, 'sandbox', 25, $3, 'p' || $1::bigint, now(), now())`,
      id,
      userId,
      state,
    );
  }

  async payment(id: number, userId: number, depositId: number | null, isPosted = true): Promise<void> {
    await this.query(
      `INSERT INTO payments (id, provider, payment_id, deposit_id, state, user_id, amount, paid_amount,
                             currency, paid_at, closed_at)
       VALUES ($1::bigint, 'sandbox', 'p' || $1::bigint, $3, 'credited', $2, 25, 25, 'RUB', now(), now())`,
      id,
      userId,
      depositId,
    );
    if (!isPosted) return;
    await this.query(
      `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, payment_id)
       VALUES ($1, 'topup', 25, 0, $2)`,
      userId,
      id,
    );
  }

  async tamper(sql: string, ...parameters: unknown[]): Promise<void> {
    await this.query('SET session_replication_role = replica');
    await this.query(sql, ...parameters);
    await this.query('SET session_replication_role = DEFAULT');
  }

  async user(): Promise<number> {
    const userId = await this.insert(`INSERT INTO users (username) VALUES ('test') RETURNING id`);
    await this.entry(userId, 'topup', 100, 0);
    return userId;
  }

  entry(
    userId: number,
    kind: string,
    available: number,
    held: number,
    orderId: number | null = null,
  ): Promise<number> {
    return this.insert(
      `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta, order_id)
       VALUES ($1, $2, $3, $4, $5) RETURNING id`,
      userId,
      kind,
      available,
      held,
      orderId,
    );
  }

  async order(userId: number, row: OrderRow): Promise<number> {
    const { kind = 'purchase', state, count = 1, delivered = count, payer = userId } = row;
    const held = count * 10;
    const captured = { reserved: 0, completed: held, partial: delivered * 10, canceled: 0 }[state];
    const released = state === 'reserved' ? 0 : held - captured;
    const orderId = await this.insert(
      `INSERT INTO orders (user_id, kind, state, count, hold_amount, captured, released, proxy_id,
                           idempotency_key, request_hash, created_at, closed_at, unit_price, order_reference,
                           country, version, period, proxy_type, provider, provider_price, queued_until,
                           sent_before, next_search_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::text, CASE WHEN $9 IS NOT NULL THEN ''::bytea END,
               now() - make_interval(hours => $10), CASE WHEN $3 <> 'reserved' THEN now() END, 10,
               gen_random_uuid(), 'ru', '6', 30, 'http', 'test', 5, CASE WHEN $3 = 'reserved' THEN now() END,
               CASE WHEN $3 <> 'reserved' THEN now() END, now())
       RETURNING id`,
      userId,
      kind,
      state,
      count,
      held,
      captured,
      released,
      row.proxyId,
      row.idempotencyKey,
      row.ageHours ?? 0,
    );
    if (state !== 'reserved') await this.query('UPDATE orders SET batch_id = id WHERE id = $1', orderId);
    if (payer !== null) {
      await this.entry(payer, 'hold', -held, held, orderId);
      if (captured > 0) await this.entry(payer, 'capture', 0, -captured, orderId);
      if (released > 0) await this.entry(payer, 'release', released, -released, orderId);
    }
    return orderId;
  }

  proxy(userId: number, orderId: number, providerId: string | null = null): Promise<number> {
    return this.insert(
      `INSERT INTO proxies (user_id, order_id, provider_proxy_id, provider, host, port, login, password,
                            proxy_type, country, version, period)
       VALUES ($1, $2, coalesce($3, gen_random_uuid()::text), 'test', '127.0.0.1', '1', 'login', 'password',
               'http', 'ru', '6', 30)
       RETURNING id`,
      userId,
      orderId,
      providerId,
    );
  }

  event(type: string, userId: number, data: object): Promise<void> {
    return this.query('INSERT INTO events (type, user_id, data) VALUES ($1, $2, $3)', type, userId, data);
  }

  /** @param row.days by how many days the end has moved */
  async renewal(
    userId: number,
    row: { state: 'placed' | 'done' | 'failed'; orderState?: 'completed' | 'canceled'; days?: number },
  ): Promise<{ id: number; orderId: number; key: string }> {
    const { state, orderState = 'completed', days = 30 } = row;
    const proxyId = await this.proxy(userId, await this.order(userId, { state: 'completed' }));
    const key = `renewal ${proxyId} 1800000000`;
    const order = { kind: 'prolongation', state: orderState, proxyId, idempotencyKey: key } as const;
    const orderId = await this.order(userId, order);
    await this.query(`UPDATE orders SET origin = 'renewal' WHERE id = $1`, orderId);
    await this.tamper(
      `UPDATE proxies SET date_end = to_timestamp(1800000000) + make_interval(days => $2) WHERE id = $1`,
      proxyId,
      days,
    );
    const id = await this.insert(
      `WITH rule AS (INSERT INTO renewal_rules (user_id, period) VALUES ($1, 30) RETURNING id)
       INSERT INTO renewals (proxy_id, user_id, rule_id, date_end_before, order_id, state, reason, period,
                             price, charged_at, due_at)
       SELECT $2, $1, rule.id, to_timestamp(1800000000), $3, $4, CASE $4 WHEN 'failed' THEN 'too-late' END,
              30, 10, CASE $4 WHEN 'done' THEN now() END, now()
         FROM rule RETURNING id`,
      userId,
      proxyId,
      orderId,
      state,
    );
    return { id, orderId, key };
  }

  priceRule({ userId, markup }: { userId: number; markup: number }): Promise<number> {
    return this.insert(
      `INSERT INTO price_rules (user_id, markup_percent, valid_from, created_by, reason)
       VALUES ($1, $2, now(), 'test', 'test') RETURNING id`,
      userId,
      markup,
    );
  }

  private async insert(sql: string, ...parameters: unknown[]): Promise<number> {
    return Number((await this.client.query<{ id: unknown }>(sql, parameters)).rows[0]?.id);
  }
}

/** Each function breaks one invariant and no other, and returns the rows that the audit must show. */
const BREAKAGES: Record<string, (books: Books) => Promise<object[]>> = {
  'balances-equal-sums-of-entries': async (books) => {
    const userId = await books.user();
    await books.tamper('UPDATE accounts SET available = available + 1 WHERE user_id = $1', userId);
    const entries = { entries_available: 100, entries_held: 0, entries_spent: null, last_seq: 1 };
    return [{ user_id: userId, available: 101, held: 0, spent: 0, seq: 1, ...entries }];
  },

  'entries-gapless-and-chained': async (books) => {
    const [gap, wrongSum] = [await books.user(), await books.user()];
    await books.tamper('UPDATE ledger_entries SET seq = 2 WHERE user_id = $1', gap);
    await books.tamper('UPDATE accounts SET seq = 2 WHERE user_id = $1', gap);
    await books.tamper(`UPDATE events SET data = data || '{"seq":2}' WHERE user_id = $1`, gap);
    await books.tamper('UPDATE ledger_entries SET available_after = 99 WHERE user_id = $1', wrongSum);
    return [
      { user_id: gap, seq: 2, available_after: 100, held_after: 0 },
      { user_id: wrongSum, seq: 1, available_after: 99, held_after: 0 },
    ];
  },

  'nothing-negative': async (books) => {
    const userId = await books.user();
    await books.query('ALTER TABLE accounts DROP CONSTRAINT accounts_available_check');
    await books.entry(userId, 'adjustment', -101, 0);
    return [
      { user_id: userId, available: -1, held: 0, seq: null },
      { user_id: userId, available: -1, held: 0, seq: 2 },
    ];
  },

  'every-user-has-an-account': async (books) => {
    await books.tamper(`INSERT INTO users (id, username) VALUES (1000000, 'test')`);
    return [{ user_id: 1_000_000 }];
  },

  'held-equals-open-orders': async (books) => {
    const userId = await books.user();
    const orderId = await books.order(userId, { state: 'reserved' });
    await books.query('ALTER TABLE orders DROP CONSTRAINT orders_closed_check');
    await books.query(`UPDATE orders SET state = 'canceled', queued_until = NULL WHERE id = $1`, orderId);
    return [{ user_id: userId, held: 10, open_orders: 0, refunds: 0 }];
  },

  'deposits-have-their-payments': async (books) => {
    const [unpaid, other] = [await books.user(), await books.user()];
    await books.deposit(901, unpaid, 'succeeded');
    await books.deposit(902, other, 'canceled');
    await books.payment(902, other, 902);
    const none = { payment_id: null, paid: null, payments_user: null };
    const its = { payment_id: 902, paid: 25, payments_user: other };
    return [
      { deposit_id: 901, user_id: unpaid, state: 'succeeded', amount: 25, ...none },
      { deposit_id: 902, user_id: other, state: 'canceled', amount: 25, ...its },
    ];
  },

  'payments-have-their-entries': async (books) => {
    const userId = await books.user();
    await books.payment(903, userId, null, false);
    const payment = { payment_id: 903, provider: 'sandbox', user_id: userId, amount: 25 };
    return [{ ...payment, entry_id: null, available_delta: null }];
  },

  'refunds-of-deposits-agree-with-entries': async (books) => {
    const userId = await books.user();
    await books.deposit(904, userId, 'succeeded');
    await books.payment(904, userId, 904);
    await books.query(
      `INSERT INTO deposit_refunds (id, deposit_id, user_id, amount, state, provider)
       VALUES (904, 904, $1, 10, 'succeeded', 'sandbox')`,
      userId,
    );
    const refund = { refund_id: 904, deposit_id: 904, state: 'succeeded', amount: 10, taken: 0, held: 0 };
    return [
      refund,
      { refund_id: null, deposit_id: 904, state: 'succeeded', amount: 0, taken: 10, held: null },
    ];
  },

  'orders-agree-with-entries': async (books) => {
    const orderId = await books.order(await books.user(), { state: 'canceled', payer: null });
    const order = {
      order_id: orderId,
      state: 'canceled',
      hold_amount: 10,
      captured: 0,
      released: 10,
      refunded: 0,
    };
    const entries = { entry_held: null, entry_captured: null, entry_released: null, entry_refunded: null };
    return [{ ...order, ...entries }];
  },

  'entries-belong-to-the-orders-user': async (books) => {
    const [userId, payer] = [await books.user(), await books.user()];
    const orderId = await books.order(userId, { state: 'canceled', payer });
    const row = { entry_id: expect.any(Number), order_id: orderId, user_id: payer, orders_user: userId };
    return [row, row];
  },

  'charged-equals-delivered': async (books) => {
    const userId = await books.user();
    const nothing = await books.order(userId, { state: 'completed' });
    const tooFew = await books.order(userId, { state: 'partial', count: 2, delivered: 1 });
    await books.proxy(userId, tooFew);
    await books.query('ALTER TABLE orders DROP CONSTRAINT IF EXISTS orders_closed_check');
    await books.query(`UPDATE orders SET state = 'completed' WHERE id = $1`, tooFew);
    await books.tamper(
      `DELETE FROM events WHERE type = 'order.partial' AND data->>'order_id' = $1`,
      `${tooFew}`,
    );
    const unpaid = await books.order(userId, { state: 'canceled' });
    await books.proxy(userId, unpaid);
    return [
      { order_id: nothing, state: 'completed', count: 1, unit_price: 10, captured: 10, delivered: 0 },
      { order_id: tooFew, state: 'completed', count: 2, unit_price: 10, captured: 10, delivered: 1 },
      { order_id: unpaid, state: 'canceled', count: 1, unit_price: 10, captured: 0, delivered: 1 },
    ];
  },

  'proxies-belong-to-the-orders-user': async (books) => {
    const [userId, owner] = [await books.user(), await books.user()];
    const purchase = await books.order(userId, { state: 'completed' });
    const given = await books.proxy(userId, purchase);
    await books.tamper('UPDATE proxies SET user_id = $2 WHERE id = $1', given, owner);
    const owned = await books.proxy(owner, await books.order(owner, { state: 'completed' }));
    const order = { kind: 'prolongation', state: 'completed', proxyId: owned } as const;
    const prolongation = await books.order(userId, order);
    return [
      { proxy_id: given, user_id: owner, orders_user: userId, order_id: purchase },
      { proxy_id: owned, user_id: owner, orders_user: userId, order_id: prolongation },
    ];
  },

  'provider-proxies-have-one-owner': async (books) => {
    await books.query('ALTER TABLE proxies DROP CONSTRAINT proxies_provider_proxy_id_key');
    for (const userId of [await books.user(), await books.user()]) {
      await books.proxy(userId, await books.order(userId, { state: 'completed' }), 'sold twice');
    }
    return [{ provider: 'test', provider_proxy_id: 'sold twice', owners: 2 }];
  },

  'one-order-per-key': async (books) => {
    const userId = await books.user();
    await books.query('DROP INDEX orders_idempotency_key');
    for (const _ of ['once', 'twice']) {
      await books.order(userId, { state: 'reserved', idempotencyKey: 'key' });
    }
    return [{ user_id: userId, idempotency_key: 'key', orders: 2 }];
  },

  'orders-of-bulks-as-accepted': async (books) => {
    const userId = await books.user();
    const orders = ['unguarded', 'forgotten'].map(async (key) => {
      const proxyId = await books.proxy(userId, await books.order(userId, { state: 'completed' }));
      if (key === 'unguarded') {
        await books.query(
          `INSERT INTO bulk_prolongations (user_id, idempotency_key, request_hash, proxy_ids, max_prices)
           VALUES ($1, $2, '', ARRAY[$3::bigint], '{12}')`,
          userId,
          key,
          proxyId,
        );
      }
      const idempotencyKey = `${key} ${proxyId}`;
      const order = { kind: 'prolongation', state: 'completed', proxyId, idempotencyKey } as const;
      const orderId = await books.order(userId, order);
      const given = key === 'unguarded' ? 12 : null;
      const row = { order_id: orderId, user_id: userId, idempotency_key: idempotencyKey };
      return { ...row, proxy_id: proxyId, max_price: null, given };
    });
    return Promise.all(orders);
  },

  'renewals-have-their-orders': async (books) => {
    const userId = await books.user();
    const lost = await books.renewal(userId, { state: 'done' });
    await books.query(
      `UPDATE renewals SET order_id = NULL, state = 'failed', reason = 'no-price', charged_at = NULL
        WHERE id = $1`,
      lost.id,
    );
    const anothers = await books.renewal(userId, { state: 'done' });
    await books.query(`UPDATE orders SET idempotency_key = 'a-key' WHERE id = $1`, anothers.orderId);
    return [
      { renewal_id: null, state: 'completed', order_id: lost.orderId, idempotency_key: lost.key },
      { renewal_id: anothers.id, state: 'done', order_id: anothers.orderId, idempotency_key: 'a-key' },
    ];
  },

  'renewals-agree-with-their-orders': async (books) => {
    const userId = await books.user();
    const expensive = await books.renewal(userId, { state: 'done' });
    await books.query('UPDATE renewals SET price = 11 WHERE id = $1', expensive.id);
    const unmoved = await books.renewal(userId, { state: 'done', days: 0 });
    const denied = await books.renewal(userId, { state: 'failed', orderState: 'completed' });
    const unread = await books.renewal(userId, { state: 'placed', orderState: 'completed' });
    await books.query(
      `UPDATE orders SET closed_at = now() - interval '25 hours' WHERE id = $1`,
      unread.orderId,
    );
    const row = ({ id, orderId }: { id: number; orderId: number }, state: string, price = 10) => {
      const order = { order_id: orderId, order_state: 'completed', hold_amount: 10, captured: 10 };
      return { renewal_id: id, state, price, ...order };
    };
    return [row(expensive, 'done', 11), row(unmoved, 'done'), row(denied, 'failed'), row(unread, 'placed')];
  },

  'histories-end-with-the-state': async (books) => {
    const orderId = await books.order(await books.user(), { state: 'reserved' });
    await books.tamper(`UPDATE orders SET history = '[]' WHERE id = $1`, orderId);
    return [{ order_id: orderId, state: 'reserved', history: [] }];
  },

  'no-order-above-its-max-price': async (books) => {
    const orderId = await books.order(await books.user(), { state: 'reserved' });
    await books.query('ALTER TABLE orders DROP CONSTRAINT orders_max_price_check');
    await books.query('UPDATE orders SET max_price = 9.99 WHERE id = $1', orderId);
    return [{ order_id: orderId, hold_amount: 10, captured: 0, max_price: 9.99 }];
  },

  'refunds-of-proxies-agree-with-entries': async (books) => {
    const userId = await books.user();
    const proxyId = await books.proxy(userId, await books.order(userId, { state: 'completed' }));
    await books.tamper(
      'UPDATE proxies SET refunded_at = now(), withdrawn_at = now(), active = false WHERE id = $1',
      proxyId,
    );
    return [expect.objectContaining({ refund_id: null, proxy_id: proxyId })];
  },

  'refunds-of-proxies-are-for-days-that-were-left': async (books) => {
    const refunded = async (requestedIn: string, ordersAfter: number): Promise<number> => {
      const userId = await books.user();
      const orderId = await books.order(userId, { state: 'completed' });
      const proxyId = await books.proxy(userId, orderId);
      await books.tamper(
        'UPDATE proxies SET refunded_at = now(), withdrawn_at = now(), active = false WHERE id = $1',
        proxyId,
      );
      await books.query('UPDATE orders SET refunded = 1 WHERE id = $1', orderId);
      await books.query(
        `WITH refund AS (
           INSERT INTO proxy_refunds
             (proxy_id, user_id, last_order_id, state, requested_at, next_check_at, amount, closed_at)
           VALUES ($1, $2, $3::bigint - $5, 'refunded', now() + $4::interval, NULL, 1, now()) RETURNING id)
         INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta, proxy_refund_id)
         SELECT $2, 'refund', $3, 1, 0, id FROM refund`,
        proxyId,
        userId,
        orderId,
        requestedIn,
        ordersAfter,
      );
      return orderId;
    };
    const orderIds = [await refunded('900 days', 0), await refunded('0', 1)];
    return orderIds.map((id) => expect.objectContaining({ order_id: id, available_delta: 1 }));
  },

  'no-more-refunded-than-captured': async (books) => {
    const userId = await books.user();
    const orderId = await books.order(userId, { state: 'canceled', ageHours: 72 });
    await books.query('ALTER TABLE orders DROP CONSTRAINT orders_refunded_check');
    await books.query('UPDATE orders SET refunded = 5 WHERE id = $1', orderId);
    await books.query(
      `WITH action AS (
         INSERT INTO audit_log (via, action, request) VALUES ('cli', 'orders.refund', '{}') RETURNING id)
       INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta, action_id)
       SELECT $1, 'refund', $2, 5, 0, id FROM action`,
      userId,
      orderId,
    );
    return [{ order_id: orderId, captured: 0, refunded: 5 }];
  },

  'token-spending-equals-orders': async (books) => {
    const userId = await books.user();
    const orderId = await books.order(userId, { state: 'reserved' });
    await books.query(
      `WITH token AS (
         INSERT INTO api_tokens (user_id, token_hash, scopes, daily_limit)
         VALUES ($1, 'test', '{}', 100) RETURNING id
       ), spending AS (
         INSERT INTO token_spending SELECT id, (now() AT TIME ZONE 'UTC')::date, 11, 100 FROM token
       )
       UPDATE orders SET token_id = token.id FROM token WHERE orders.id = $2`,
      userId,
      orderId,
    );
    return [{ token_id: expect.any(Number), day: expect.any(String), spent: 11, orders_taken: 10 }];
  },

  'sales-days-equal-orders': async (books) => {
    const group = { country: 'ru', version: '6' };
    const sold = { purchases: 1, prolongations: 0, proxies: 1, refunds: 0, refunds_by_rule: 0, cost: 0 };
    const [right, wrong, missing, invented] = ['01', '02', '03', '04'].map((day) => `2001-01-${day}`);
    for (const day of [right, wrong, missing]) {
      const userId = await books.user();
      const orderId = await books.order(userId, { state: 'completed' });
      await books.proxy(userId, orderId);
      await books.query(
        `UPDATE orders SET closed_at = $2::timestamptz + interval '23 h' WHERE id = $1`,
        orderId,
        `${day}Z`,
      );
    }
    for (const [day, sales] of [
      [right, 10],
      [wrong, 11],
      [invented, 10],
    ]) {
      await books.query(`INSERT INTO sales_days VALUES ($1, 'ru', '6', 1, 0, 1, $2, 0, 0, 0)`, day, sales);
    }
    await books.query(`INSERT INTO sales_rollup (rolled_to) VALUES ('2001-01-05')`);
    const figures = (sales: number | null, prefix: string) =>
      Object.entries({ ...sold, sales }).map(([name, value]) => [
        prefix + name,
        sales === null ? null : value,
      ]);
    const row = (day: string | undefined, summed: number | null, orders: number | null) => {
      const both = [...figures(summed, ''), ...figures(orders, 'orders_')];
      return { day, ...group, ...Object.fromEntries(both) };
    };
    return [row(wrong, 11, 10), row(missing, null, 10), row(invented, 10, null)];
  },

  'batches-are-of-one-kind': async (books) => {
    const userId = await books.user();
    const lead = await books.order(userId, { state: 'canceled' });
    const other = await books.order(userId, { state: 'canceled' });
    await books.query('UPDATE orders SET batch_id = $1, period = 7 WHERE id = $2', lead, other);
    const unsent = await books.order(userId, { state: 'reserved' });
    await books.query('UPDATE orders SET batch_id = id WHERE id = $1', unsent);
    return [
      { order_id: other, batch_id: lead, state: 'canceled' },
      { order_id: unsent, batch_id: unsent, state: 'reserved' },
    ];
  },

  'orders-have-the-markup-of-their-rule': async (books) => {
    const userId = await books.user();
    const ruleId = await books.priceRule({ userId, markup: 5 });
    const priced = async (id: number, markup: number, rule: number): Promise<number> => {
      const change = 'UPDATE orders SET markup_percent = $2, price_rule_id = $3 WHERE id = $1';
      await books.query(change, id, markup, rule);
      return id;
    };
    const canceled = () => books.order(userId, { state: 'canceled' });
    await priced(await canceled(), 5, ruleId);
    const wrongMarkup = await priced(await canceled(), 6, ruleId);
    const unknownRule = await priced(await canceled(), 5, ruleId + 1000);
    const elses = await priced(await books.order(await books.user(), { state: 'canceled' }), 5, ruleId);
    return [
      { order_id: wrongMarkup, markup_percent: 6, price_rule_id: ruleId },
      { order_id: unknownRule, markup_percent: 5, price_rule_id: ruleId + 1000 },
      { order_id: elses, markup_percent: 5, price_rule_id: ruleId },
    ];
  },

  'no-order-open-for-a-day': async (books) => {
    const orderId = await books.order(await books.user(), { state: 'reserved', ageHours: 25 });
    return [{ order_id: orderId, state: 'reserved', created_at: expect.any(String) }];
  },

  'orders-agree-with-their-events': async (books) => {
    const userId = await books.user();
    const other = await books.user();
    const canceled = () => books.order(userId, { state: 'canceled' });
    const [silent, twice, elses] = [await canceled(), await canceled(), await canceled()];
    const early = await books.order(userId, { state: 'reserved' });
    await books.event('order.canceled', userId, { order_id: twice });
    await books.event('order.completed', userId, { order_id: early });
    await books.event('order.canceled', userId, { order_id: 999_999 });
    await books.tamper(`DELETE FROM events WHERE data->>'order_id' = $1`, `${silent}`);
    await books.tamper(`UPDATE events SET user_id = $2 WHERE data->>'order_id' = $1`, `${elses}`, other);
    const row = (order_id: number, state: string | null, events: string[] | null, user_id = userId) => ({
      order_id,
      user_id,
      state,
      events,
    });
    return [
      row(silent, 'canceled', null),
      row(twice, 'canceled', ['canceled', 'canceled']),
      row(elses, 'canceled', null),
      row(elses, null, ['canceled'], other),
      row(early, null, ['completed']),
      row(999_999, null, ['canceled']),
    ];
  },

  'credits-agree-with-their-events': async (books) => {
    const [silent, wrong, logged] = [await books.user(), await books.user(), await books.user()];
    await books.tamper('DELETE FROM events WHERE user_id = $1', silent);
    await books.tamper(`UPDATE events SET data = data || '{"amount":"1.00"}' WHERE user_id = $1`, wrong);
    await books.event('balance.credited', logged, { seq: 2, amount: '100.00' });
    return [
      { user_id: silent, seq: 1, amount: 'balance.credited 100.00', events: null },
      { user_id: wrong, seq: 1, amount: 'balance.credited 100.00', events: ['balance.credited 1.00'] },
      { user_id: logged, seq: 2, amount: null, events: ['balance.credited 100.00'] },
    ];
  },

  'proxy-changes-agree-with-their-events': async (books) => {
    const userId = await books.user();
    const proxyId = await books.proxy(userId, await books.order(userId, { state: 'completed' }));
    await books.query(`UPDATE proxies SET host = '127.0.0.2', withdrawn_at = now() WHERE id = $1`, proxyId);
    await books.tamper(`DELETE FROM events WHERE type = 'proxy.moved' AND user_id = $1`, userId);
    await books.event('proxy.prolonged', userId, { proxy_id: `${proxyId}` });
    return [
      { proxy_id: proxyId, type: 'proxy.moved', events: null, changes: 1 },
      { proxy_id: proxyId, type: 'proxy.prolonged', events: 1, changes: null },
    ];
  },

  'tokens-agree-with-their-events': async (books) => {
    const userId = await books.user();
    await books.query(
      `INSERT INTO api_tokens (user_id, token_hash, scopes) VALUES ($1, 'silent', '{}')`,
      userId,
    );
    await books.tamper(`DELETE FROM events WHERE type = 'token.created' AND user_id = $1`, userId);
    await books.event('token.revoked', userId, { token_id: 999_999 });
    return [
      { token_id: expect.any(Number), events: null },
      { token_id: 999_999, events: ['token.revoked'] },
    ];
  },

  'events-are-published-soon': async (books) => {
    const userId = await books.user();
    await books.tamper(`UPDATE events SET at = at - interval '61 minutes' WHERE user_id = $1`, userId);
    return [
      { event_id: expect.any(Number), user_id: userId, type: 'balance.credited', at: expect.any(String) },
    ];
  },

  'events-reach-their-webhooks': async (books) => {
    const userId = await books.user();
    const strangerId = await books.user();
    await books.tamper(
      `INSERT INTO webhooks (user_id, url, types, secret) VALUES ($1, '', '{balance.credited}', 'whsec_')`,
      userId,
    );
    await books.tamper(`UPDATE events SET position = nextval('event_positions') WHERE user_id = ANY ($1)`, [
      userId,
      strangerId,
    ]);
    await books.tamper(
      `INSERT INTO webhook_deliveries (webhook_id, event_id)
       SELECT webhooks.id, events.id FROM webhooks, events
        WHERE webhooks.user_id = $1 AND events.user_id = $2`,
      userId,
      strangerId,
    );
    const broken = { event_id: expect.any(Number), type: 'balance.credited', webhook_id: expect.any(Number) };
    return [
      { ...broken, user_id: userId, state: null },
      { ...broken, user_id: strangerId, state: 'pending' },
    ];
  },
};

function openBooks() {
  const database = forAllTests(createTestDatabase);
  const client = forAllTests(() => connectClient(database.ownerUrl));
  return {
    books: forAllTests(() => new Books(client)),
    audit: (...options: string[]): Promise<Outcome> =>
      runCliHere(['audit', ...options], { DATABASE_URL: database.url, PROVIDER: 'sandbox' }),
  };
}

describe('the audit', () => {
  describe('of a database that is intact', () => {
    const { books, audit } = openBooks();

    it('finds nothing, with orders in any state', async () => {
      const userId = await books.user();
      await books.user();
      const proxyId = await books.proxy(userId, await books.order(userId, { state: 'completed' }));
      await books.proxy(userId, await books.order(userId, { state: 'partial', count: 2, delivered: 1 }));
      await books.order(userId, { state: 'canceled', idempotencyKey: 'key' });
      await books.order(userId, { state: 'reserved', idempotencyKey: 'key', ageHours: 24 });
      await books.order(userId, { kind: 'prolongation', state: 'completed', proxyId });
      await books.renewal(userId, { state: 'done' });
      await books.renewal(userId, { state: 'placed' });
      await books.renewal(userId, { state: 'failed', orderState: 'canceled' });
      await books.entry(userId, 'adjustment', -1, 0);

      const { code, stdout, stderr } = await audit();

      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(JSON.parse(stdout)).toEqual({
        ok: true,
        invariants: Object.keys(BREAKAGES).map((name) => ({ name, violations: 0, rows: [] })),
      });
    });
  });

  describe('of a database that is broken', () => {
    const expected: Record<string, object[]> = {};
    let outcome: Outcome;
    let report: IntegrityReport;
    const { books, audit } = openBooks();
    beforeAll(async () => {
      for (const [name, doBreak] of Object.entries(BREAKAGES)) expected[name] = await doBreak(books);
      outcome = await audit();
      report = JSON.parse(outcome.stdout);
    });

    it('fails, and names the broken invariants in one line', () => {
      const broken = Object.entries(expected).map(([name, rows]) => `${name} (${rows.length})`);
      expect(outcome).toMatchObject({ code: 1, stderr: `Broken: ${broken.join(', ')}\n` });
      expect(report.ok).toBe(false);
    });

    it('finds the same in what changed since yesterday began, if it is broken since then', async () => {
      const { invariants }: IntegrityReport = JSON.parse((await audit('--day')).stdout);
      const found = invariants.filter(({ violations }) => violations > 0).map(({ name }) => name);
      // No index finds new users and tokens, and the wrong sales are those of 2001.
      const others = [
        'every-user-has-an-account',
        'sales-days-equal-orders',
        'proxy-changes-agree-with-their-events',
        'tokens-agree-with-their-events',
      ];
      expect(found).toEqual(Object.keys(BREAKAGES).filter((name) => !others.includes(name)));
    });

    it.each(Object.keys(BREAKAGES))('shows the rows that break %s, and no others', (name) => {
      const rows = expected[name] ?? [];
      const invariant = report.invariants.find((one) => one.name === name);
      expect(invariant).toEqual({ name, violations: rows.length, rows: expect.arrayContaining(rows) });
      expect(invariant?.rows).toHaveLength(rows.length);
    });
  });
});
