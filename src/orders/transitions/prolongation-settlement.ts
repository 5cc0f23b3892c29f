import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { preparedRows, type Queryable, sqlList } from '../../database';
import { postEntriesSql } from '../../ledger';
import { Metrics } from '../../metrics';
import { countOutcomes, type DeliveredProxy, type OrderOutcome, OUTCOME_COLUMNS } from '../order-outcome';
import { statesBefore } from '../order-states';
import { callParameter, recordCall, type RecordedCall } from '../provider-call-log';

export interface DeliveredProlongations {
  readonly ends: readonly { readonly orderId: number; readonly dateEnd: Date }[];
  readonly providerOrderId?: string | null;
  readonly charge?: string | null;
}

/** A closed prolongation, with the proxy as it is then. */
type ClosedProlongation = Omit<OrderOutcome, 'answer'> & { readonly proxy: DeliveredProxy };
@Injectable()
export class ProlongationSettlement {
  constructor(
    private readonly dataSource: DataSource,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Stores the new ends of prolonged proxies and captures the prices. A proxy that was marked as withdrawn is
   * listed again.
   *
   * @param call is recorded in the same transaction
   * @returns the orders that were closed
   */
  async deliverProlongations(
    { ends, providerOrderId = null, charge = null }: DeliveredProlongations,
    { queryable = this.dataSource, call }: { queryable?: Queryable; call?: RecordedCall | undefined } = {},
  ): Promise<OrderOutcome[]> {
    const closed = await preparedRows<ClosedProlongation>(
      queryable,
      `WITH member AS MATERIALIZED (
         SELECT id, ends.date_end, provider_price,
                sum(provider_price) OVER (ORDER BY id) AS upto, sum(provider_price) OVER () AS total
           FROM (SELECT id, provider_price FROM orders
                  WHERE id IN (SELECT order_id FROM jsonb_to_recordset($1::jsonb) AS given (order_id bigint))
                    AND state IN ${sqlList(statesBefore('completed'))} ORDER BY id FOR UPDATE) AS open
           JOIN jsonb_to_recordset($1::jsonb) AS ends (order_id bigint, date_end timestamptz)
             ON ends.order_id = open.id
       ),
       closed AS (
         UPDATE orders
            SET state = 'completed', captured = held, closed_at = now(), provider_order_id = $2,
                -- Rounded on the running total, so that the shares add up to the whole.
                provider_charge = coalesce(
                  round($3::numeric * upto / nullif(total, 0), 4)
                    - round($3::numeric * (upto - member.provider_price) / nullif(total, 0), 4),
                  member.provider_price),
                -- Stored for idempotent replays.
                answer = CASE WHEN idempotency_key IS NOT NULL OR key_forgotten THEN
                  (SELECT jsonb_build_array(jsonb_build_object(
                            'id', id, 'host', host, 'port', port, 'login', login, 'password', password,
                            'date_start', date_start, 'date_end', member.date_end, 'descr', descr))
                     FROM proxies WHERE proxies.id = orders.proxy_id)
                END
           FROM member
          WHERE orders.id = member.id
         RETURNING orders.*, member.date_end
       ),
       -- Changes of labels and the sweep lock proxies in this order, too.
       locked AS MATERIALIZED (
         SELECT id FROM proxies WHERE id IN (SELECT proxy_id FROM closed) ORDER BY id FOR NO KEY UPDATE
       ),
       prolonged AS (
         UPDATE proxies
            SET date_end = closed.date_end, period = closed.period, active = closed.date_end > now(),
                absences = 0, withdrawn_at = NULL
           FROM closed WHERE proxies.id = closed.proxy_id AND proxies.id = ANY (ARRAY(SELECT id FROM locked))
         RETURNING proxies.id, host, port, login, password, date_start, proxies.date_end, descr
       ),
       entries AS (
         ${postEntriesSql(
           `SELECT user_id, 'capture' AS kind, id AS order_id, 0 AS available_delta, -captured AS held_delta
              FROM closed`,
           'SELECT user_id FROM closed',
         )}
       ),${recordCall('$4')}
       SELECT ${OUTCOME_COLUMNS}, (SELECT to_jsonb(prolonged) FROM prolonged WHERE id = proxy_id) AS proxy
         FROM closed ORDER BY id`,
      [
        JSON.stringify(ends.map(({ orderId, dateEnd }) => ({ order_id: orderId, date_end: dateEnd }))),
        providerOrderId,
        charge,
        callParameter(call),
      ],
    );
    countOutcomes(this.metrics, closed);
    return closed.map(({ proxy, ...order }) => ({ ...order, answer: [proxy] }));
  }
}
