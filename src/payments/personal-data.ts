import type { PersonalData } from '../database';

/** Erasure does not cover fiscal receipts: the cash register stores them. */
export const PAYMENTS_DATA: PersonalData = {
  deposits: `
    UPDATE deposits
       SET idempotency_key = NULL, request_hash = NULL, receipt_email = NULL, request = NULL,
           payment_url = NULL
     WHERE user_id = $1
       AND num_nonnulls(idempotency_key, request_hash, receipt_email, request, payment_url) > 0`,
  deposit_refunds: `
    UPDATE deposit_refunds SET request = NULL
     WHERE request IS NOT NULL
       AND deposit_id = ANY (ARRAY(SELECT id FROM deposits WHERE user_id = $1))`,
  payments: 'SELECT FROM payments WHERE user_id = $1',
};
