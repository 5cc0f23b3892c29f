import type { PersonalData } from '../database';

/** SQL: whether the service made the key. Customers made the others. */
const IS_RENEWAL = `(idempotency_key LIKE 'renewal % %')`;

export const ORDERS_DATA: PersonalData = {
  orders: `
    UPDATE orders
       SET descr = NULL, request_id = NULL, response = NULL,
           idempotency_key = CASE WHEN ${IS_RENEWAL} THEN idempotency_key END,
           request_hash = CASE WHEN ${IS_RENEWAL} THEN request_hash END
     WHERE user_id = $1
       AND (num_nonnulls(descr, request_id, response) > 0 OR NOT ${IS_RENEWAL})`,
  bulk_prolongations: 'DELETE FROM bulk_prolongations WHERE user_id = $1',
  written_off_requests: 'DELETE FROM written_off_requests WHERE user_id = $1',
  provider_calls: `
    SELECT FROM provider_calls WHERE order_id = ANY (ARRAY(SELECT id FROM orders WHERE user_id = $1))`,
};
