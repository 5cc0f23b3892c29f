import type { SandboxControl } from '../../src/sandbox';

export interface Books {
  readonly control: Pick<SandboxControl, 'getState'>;
  query<Row>(statement: string, parameters?: unknown[]): Promise<Row[]>;
}

export interface CompletedOrder {
  readonly order: { readonly customer: { readonly id: number }; readonly key?: string };
  readonly response: { readonly status: number; readonly body: Record<string, unknown> };
}

/** Each sold proxy has one owner or is known as unmatched. Each prolongation belongs to one paid order. */
export async function compareWithBook(books: Books): Promise<string[]> {
  const book = await books.control.getState();
  const owned = new Map(
    (
      await books.query<{ id: string; orderReference: string; state: string }>(
        `SELECT provider_proxy_id AS id, lead.order_reference AS "orderReference", orders.state
           FROM proxies
           JOIN orders ON orders.id = proxies.order_id
           JOIN orders lead ON lead.id = orders.batch_id`,
      )
    ).map((row) => [row.id, row]),
  );
  const unmatched = new Set(
    (await books.query<{ id: string }>('SELECT provider_proxy_id AS id FROM unmatched_proxies')).map(
      ({ id }) => id,
    ),
  );
  const orderReferences = book.sales.map(({ descr }) => descr);
  const twice = orderReferences
    .filter((orderReference, at) => orderReferences.indexOf(orderReference) !== at)
    .map((orderReference) => `${orderReference} was sold twice`);
  const unowned = book.sales.flatMap(({ descr, proxyIds }) =>
    proxyIds
      .map(String)
      .filter((id) => owned.get(id)?.orderReference !== descr && !unmatched.has(id))
      .map((id) => `proxy ${id} of ${descr} has no owner`),
  );
  const sold = new Set(book.sales.flatMap(({ proxyIds }) => proxyIds.map(String)));
  const unsold = [...owned.keys()].filter((id) => !sold.has(id)).map((id) => `proxy ${id} was never sold`);
  const prolonged = new Map<string, number>();
  for (const { proxies } of book.prolongations) {
    for (const { id } of proxies) prolonged.set(String(id), (prolonged.get(String(id)) ?? 0) + 1);
  }
  const paid = await books.query<{ id: string; count: number; orders: unknown }>(
    `SELECT provider_proxy_id AS id, count(orders.id) FILTER (WHERE orders.state = 'completed') AS count,
            coalesce(json_agg(json_build_object(
              'id', orders.id, 'batch', batch_id, 'key', idempotency_key, 'failure', failure,
              'period', orders.period, 'end_before', date_end_before, 'sent_before', sent_before,
              'nothing_since', nothing_seen_since, 'history', history) ORDER BY orders.id)
              FILTER (WHERE orders.id IS NOT NULL), '[]') AS orders
       FROM proxies LEFT JOIN orders ON orders.proxy_id = proxies.id GROUP BY proxies.id`,
  );
  const unpaid = paid
    .filter(({ id, count }) => (prolonged.get(id) ?? 0) !== count)
    .map(({ id, count, orders }) => {
      const calls = book.prolongations
        .filter(({ proxies }) => proxies.some((proxy) => String(proxy.id) === id))
        .map(({ atMs, periodDays }) => `${new Date(atMs).toISOString()} by ${periodDays}`);
      const executed = `prolonged ${calls.length} times (${calls.join(', ')})`;
      return `proxy ${id} was ${executed} and paid for ${count} times: ${JSON.stringify(orders)}`;
    });
  return [...twice, ...unowned, ...unsold, ...unpaid];
}

/** Orders with a 200 exist and cost what the response says. Refused ones cost nothing. Balances agree. */
export async function compareResponses(
  books: Books,
  responses: readonly CompletedOrder[],
): Promise<string[]> {
  const stored = new Map(
    (
      await books.query<{ key: string; id: number; captured: string; state: string }>(
        `SELECT format('%s/%s', user_id, idempotency_key) AS key, id, captured, state
           FROM orders WHERE state <> 'canceled'`,
      )
    ).map((order) => [order.key, order]),
  );
  const wrong = responses.flatMap(({ order, response }) => {
    const found = stored.get(`${order.customer.id}/${order.key}`);
    if (response.status !== 200) {
      return found ? [`order ${found.id} was refused with ${response.status}, and is ${found.state}`] : [];
    }
    if (!found) return [`an order with a 200 is gone: ${JSON.stringify(response.body['order_id'])}`];
    return found.id === response.body['order_id'] && found.captured === response.body['price_charged']
      ? []
      : [`order ${found.id} is not as in its response`];
  });
  const unexplained = await books.query<{ id: number }>(
    `SELECT user_id AS id FROM accounts
      WHERE available + held <>
            (SELECT sum(available_delta) FROM ledger_entries e
              WHERE e.user_id = accounts.user_id AND kind = 'topup')
          - (SELECT coalesce(sum(captured), 0) FROM orders o WHERE o.user_id = accounts.user_id)`,
  );
  const review = await books.query<{ id: number; failure: string }>(
    `SELECT id, failure FROM orders WHERE state = 'review'`,
  );
  return [
    ...wrong,
    ...unexplained.map(({ id }) => `the balance of user ${id} is not explained by top-ups and charges`),
    ...review.map(({ id, failure }) => `order ${id} came to review: ${failure}`),
  ];
}

interface ReturnedProxy {
  readonly id: string;
  readonly host: string;
  readonly port: number;
  readonly login: string;
  readonly password: string;
  readonly date_end: string;
}

/** Every proxy in a response belongs to the customer, is the same one, and ends no earlier than stated. */
export async function compareProxies(books: Books, responses: readonly CompletedOrder[]): Promise<string[]> {
  const stored = new Map(
    (
      await books.query<Omit<ReturnedProxy, 'date_end'> & { userId: number; dateEnd: Date }>(
        `SELECT id::text, user_id AS "userId", host, port, login, password, date_end AS "dateEnd"
           FROM proxies`,
      )
    ).map((proxy) => [proxy.id, proxy]),
  );
  return responses.flatMap(({ order, response }) => {
    const { proxies, proxy } = response.body as { proxies?: ReturnedProxy[]; proxy?: ReturnedProxy };
    return [...(proxies ?? []), ...(proxy ? [proxy] : [])]
      .filter((returned) => {
        const found = stored.get(returned.id);
        const isSame =
          found?.userId === order.customer.id &&
          (['host', 'login', 'password'] as const).every((name) => found[name] === returned[name]) &&
          found.port === returned.port;
        return !isSame || found.dateEnd.getTime() < Math.floor(Date.parse(returned.date_end));
      })
      .map(({ id }) => `proxy ${id} is not as in the response to user ${order.customer.id}`);
  });
}
