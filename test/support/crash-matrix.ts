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

/** For a replica whose calls are held: longer than any test holds them. */
export const HELD = { PROVIDER_TIMEOUT_MS: '60000' };

/** Ends the time in which calls of dead replicas may have been sent. No other replica may run meanwhile. */
export const CALLS_END = `
  UPDATE orders SET sent_before = now(), next_search_at = now() WHERE state = 'submitting'`;

/** Ends the leases of dead replicas. No other replica may run a job meanwhile. */
export const LEASES_END = 'UPDATE job_runs SET leased_until = now() WHERE finished_at IS NULL';
