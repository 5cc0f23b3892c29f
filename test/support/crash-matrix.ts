/** A part of the statement by which the relay recognises each step of an order. */
export const STEPS = {
  settle: 'closed_at = now()',
  claimReading: 'WITH unread AS MATERIALIZED',
  storeEnd: 'WITH read AS MATERIALIZED',
  claim: 'WITH waiting AS (',
  reserve: 'place_orders',
};

/** How the statement of each step begins. */
export const BEGINNINGS = {
  claimReading: 'WITH unread',
  storeEnd: 'WITH read',
  reserve: 'SELECT * FROM place_orders',
  claim: 'WITH waiting',
  settle: 'WITH member',
};

/** Stages of a call at the provider at which a gate can hold it. */
export const STAGES = ['received', 'executed', 'half-sent'] as const;
