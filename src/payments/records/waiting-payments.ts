import { PAYMENT_OBSTACLES } from './payment.dto';

export const UNDECIDED_REASONS = [...PAYMENT_OBSTACLES, 'found-refund', 'receipt'] as const;

/** The provider registers a receipt within this time, or never. */
export const RECEIPT_WITHIN_SQL = `interval '3 days'`;
/** How long an unregistered receipt is reported to operators. */
const RECEIPT_SHOWN_FOR = `interval '7 days'`;

const failedReceipts = (table: string): string => `
  SELECT closed_at FROM ${table}
   WHERE receipt_registration IN ('pending', 'canceled') AND closed_at > now() - ${RECEIPT_SHOWN_FOR}
     AND (receipt_registration = 'canceled' OR closed_at < now() - ${RECEIPT_WITHIN_SQL})`;

export const WAITING_PAYMENTS = `
  SELECT NULL AS reason, count(*)::integer AS count, min(created_at) AS oldest
    FROM deposits WHERE state = 'pending'
  UNION ALL
  SELECT reason, count(*)::integer, min(created_at) FROM payments WHERE state = 'unmatched' GROUP BY reason
  UNION ALL
  SELECT 'found-refund', count(*)::integer, min(created_at) FROM deposit_refunds WHERE state = 'found'
  UNION ALL
  SELECT 'receipt', count(*)::integer, min(closed_at)
    FROM (${failedReceipts('deposits')} UNION ALL ${failedReceipts('deposit_refunds')}) AS receipts`;
