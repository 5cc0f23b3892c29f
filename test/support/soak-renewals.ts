import { eventually } from './built-service';
import { type Customer, type Replicas, send } from './replicas';

/** In roubles. Too little for all renewals, so that some are skipped. */
const BUDGET = '150.00';

/** Makes rentals of three days due at once, and no renewed or longer ones. */
const RULE = { target: 'all', period: 7, hours_before: 72 };

export class SoakRenewals {
  private readonly userIds: readonly number[];
  private readonly undecided: string[] = [];
  /** Renewals never placed, by reason. */
  readonly skipped: Record<string, number> = {};

  private constructor(
    private readonly replicas: Replicas,
    private readonly customers: readonly Customer[],
  ) {
    this.userIds = customers.map(({ id }) => id);
  }

  static async switchOn(
    replicas: Replicas,
    baseUrl: string,
    customers: readonly Customer[],
  ): Promise<SoakRenewals> {
    await replicas.query('INSERT INTO renewal_settings (user_id, monthly_budget) VALUES ($1, $2)', [
      customers[0]?.id,
      BUDGET,
    ]);
    for (const customer of customers) {
      const { status } = await send(baseUrl, { customer, path: '/renewals/rules', body: RULE });
      if (status >= 300) throw new Error(`no renewal rule was made: ${status}`);
    }
    return new SoakRenewals(replicas, customers);
  }

  async countDone(): Promise<number> {
    return (await this.query(`SELECT FROM renewals WHERE user_id = ANY ($1) AND state = 'done'`)).length;
  }

  /** Waits for the due renewals, disables renewals, and waits for their orders. */
  async finish(baseUrl: string): Promise<void> {
    const findUndecided = () =>
      this.query<{ id: number }>(
        `SELECT id FROM proxies
          WHERE user_id = ANY ($1) AND active AND withdrawn_at IS NULL
            AND date_trunc('hour', date_end - interval '72 hours', 'UTC') <= now()
            AND NOT EXISTS (SELECT FROM renewals
                             WHERE proxy_id = proxies.id AND date_end_before = date_end
                               AND state = 'skipped' AND reason = 'budget-used-up')`,
      );
    await eventually(async () => {
      await this.shortenPauses();
      return (await findUndecided()).length === 0;
    }).catch(() => undefined);
    const left = await findUndecided();
    this.undecided.push(
      ...left.map(({ id }) => `proxy ${id} is due, and was not renewed, though nothing fails`),
    );
    const skipped = await this.query<{ reason: string; count: number }>(
      `SELECT reason, count(*) AS count FROM renewals
        WHERE user_id = ANY ($1) AND state = 'skipped' GROUP BY reason`,
    );
    for (const { reason, count } of skipped) this.skipped[reason] = count;
    for (const { token } of this.customers) {
      const headers = { Authorization: `Bearer ${token}` };
      const { status } = await fetch(`${baseUrl}/renewals/rules`, { method: 'DELETE', headers });
      if (status >= 300) throw new Error(`renewals were not disabled: ${status}`);
    }
    await eventually(async () => {
      const placed = await this.query(
        `SELECT FROM renewals WHERE user_id = ANY ($1) AND state = 'placed' LIMIT 1`,
      );
      return placed.length === 0;
    });
  }

  /** Due rentals must have been renewed once, within the budget, with one event each. */
  async compare(): Promise<string[]> {
    const twice = await this.query<{ id: number; count: number }>(
      `SELECT proxy_id AS id, count(*) AS count FROM orders
        WHERE user_id = ANY ($1) AND origin = 'renewal' AND state = 'completed'
        GROUP BY proxy_id HAVING count(*) > 1`,
    );
    const overspent = await this.query<{ id: number; spent: string; budget: string }>(
      `SELECT user_id AS id, sum(captured) AS spent, monthly_budget AS budget
         FROM orders JOIN renewal_settings USING (user_id)
        WHERE user_id = ANY ($1) AND origin = 'renewal'
        GROUP BY user_id, monthly_budget, date_trunc('month', orders.created_at, 'UTC')
       HAVING sum(captured) > monthly_budget`,
    );
    const unlogged = await this.query<{ id: string; done: number; logged: number }>(
      `SELECT proxy_id AS id, coalesce(done, 0) AS done, coalesce(logged, 0) AS logged
         FROM (SELECT proxy_id::text, date_end_before AS date_end, count(*) AS done FROM renewals
                WHERE user_id = ANY ($1) AND state = 'done' GROUP BY 1, 2) AS renewed
         FULL JOIN (SELECT data->>'proxy_id' AS proxy_id, (data->>'date_end')::timestamptz AS date_end,
                           count(*) AS logged
                      FROM events WHERE user_id = ANY ($1) AND type = 'renewal.done' GROUP BY 1, 2) AS events
              USING (proxy_id, date_end)
        WHERE done IS DISTINCT FROM 1 OR logged IS DISTINCT FROM 1`,
    );
    return [
      ...this.undecided,
      ...twice.map(({ id, count }) => `proxy ${id} was renewed ${count} times`),
      ...overspent.map(({ id, spent, budget }) => `renewals of user ${id} cost ${spent} of ${budget}`),
      ...unlogged.map(
        ({ id, done, logged }) => `proxy ${id} was renewed ${done} times, logged ${logged} times`,
      ),
    ];
  }

  /** A renewal that failed often is retried after minutes. */
  private async shortenPauses(): Promise<void> {
    await this.query(
      `UPDATE renewals SET next_try_at = now() + interval '3 seconds'
        WHERE user_id = ANY ($1) AND state = 'skipped' AND reason <> 'budget-used-up'
          AND next_try_at > now() + interval '3 seconds'`,
    );
  }

  private query<Row>(statement: string): Promise<Row[]> {
    return this.replicas.query<Row>(statement, [this.userIds]);
  }
}
