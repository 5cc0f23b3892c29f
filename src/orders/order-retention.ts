import { Injectable } from '@nestjs/common';
import { AppConfig } from '../config';
import { sqlList } from '../database';
import { Retention } from '../retention';
import { BulkRecords } from './bulk/bulk-records';
import { OPEN_STATES } from './order-states';
import { OrderTransitions } from './order-transitions';
import { OrphansService } from './sweep/orphans.service';

/** An order whose outcome was unknown is closed within this time, or left to staff. */
const DAYS_TO_CLOSE = 2;

/**
 * How long is kept what belongs to orders and is no part of the books. Logins and passwords that are kept
 * beside the customer's list go once nobody can need them.
 */
@Injectable()
export class OrderRetention {
  constructor(
    retention: Retention,
    transitions: OrderTransitions,
    orphans: OrphansService,
    bulks: BulkRecords,
    { purchases: { replayDays }, retention: days }: AppConfig,
  ) {
    retention.add<{ ended: string; id: number }>('order_passwords', (place) =>
      transitions.forgetCredentials(replayDays, place ?? { ended: '', id: 0 }),
    );
    retention.add('orphan_passwords', async () => ({
      removed: await orphans.forgetCredentials(replayDays),
      next: null,
    }));
    retention.add('unused_bulks', () => bulks.forgetUnused());
    if (days.answerDays > 0) retention.add('answers', () => transitions.forgetAnswers(days.answerDays));
    retention.addOldRows({
      name: 'order_histories',
      table: 'orders',
      time: 'created_at',
      days: days.orderHistoryDays && days.orderHistoryDays + DAYS_TO_CLOSE,
      removal: `UPDATE orders SET history = jsonb_build_array(history -> -1)
                 WHERE id = ANY (ARRAY(SELECT id FROM old)) AND jsonb_array_length(history) > 1
                   AND closed_at < now() - make_interval(days => $2 - ${DAYS_TO_CLOSE})`,
    });
    // Those of orders for staff to decide are evidence.
    retention.addOldRows({
      name: 'provider_calls',
      table: 'upstream_calls',
      time: 'created_at',
      days: days.providerCallDays,
      removal: `DELETE FROM upstream_calls
                 WHERE id = ANY (ARRAY(SELECT id FROM old))
                   AND order_id <> ALL (ARRAY(SELECT unnest(ARRAY[id, coalesce(group_id, id)]) FROM orders
                                               WHERE state IN ${sqlList(OPEN_STATES)}))`,
    });
    if (days.tokenSpendingDays > 0) {
      retention.add('token_spending_days', () => transitions.forgetSpending(days.tokenSpendingDays));
    }
  }
}
