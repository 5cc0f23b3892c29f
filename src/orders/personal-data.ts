import type { PersonalData } from '../database';

export const ORDERS_DATA: PersonalData = {
  // An erasure keeps the keys of renewals, because the service created them.
  orders: `
    UPDATE orders
       SET label = NULL, request_id = NULL, delivered_proxies = NULL,
           idempotency_key = CASE WHEN origin = 'renewal' THEN idempotency_key END,
           request_hash = CASE WHEN origin = 'renewal' THEN request_hash END
     WHERE user_id = $1
       AND (num_nonnulls(label, request_id, delivered_proxies) > 0
            OR idempotency_key IS NOT NULL AND origin <> 'renewal')`,
  bulk_prolongations: 'DELETE FROM bulk_prolongations WHERE user_id = $1',
  written_off_requests: 'DELETE FROM written_off_requests WHERE user_id = $1',
  provider_calls: `
    SELECT FROM provider_calls WHERE order_id = ANY (ARRAY(SELECT id FROM orders WHERE user_id = $1))`,
};
