export const STEPS = {
  settle: 'closed_at = now()',
  claimReading: 'WITH unread AS MATERIALIZED',
  storeEnd: 'WITH read AS MATERIALIZED',
  claim: 'WITH waiting AS (',
  reserve: 'place_orders',
};

export const BEGINNINGS = {
  claimReading: 'WITH unread',
  storeEnd: 'WITH read',
  reserve: 'SELECT * FROM place_orders',
  claim: 'WITH waiting',
  settle: 'WITH member',
};

export const STAGES = ['received', 'executed', 'half-sent'] as const;
