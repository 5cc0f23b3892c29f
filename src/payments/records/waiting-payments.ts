import { UNMATCHED_REASONS } from './payment.dto';

export const UNDECIDED_REASONS = [...UNMATCHED_REASONS, 'found-refund'] as const;

/** Counts and oldest times for operators: pending deposits have no reason, undecided payments have one. */
export const WAITING_PAYMENTS = `
  SELECT NULL AS reason, count(*)::integer AS count, min(created_at) AS oldest
    FROM deposits WHERE state = 'pending'
  UNION ALL
  SELECT reason, count(*)::integer, min(created_at) FROM payments WHERE state = 'unmatched' GROUP BY reason
  UNION ALL
  SELECT 'found-refund', count(*)::integer, min(created_at) FROM deposit_refunds WHERE state = 'found'`;
