export const STEPS = {
  settle: 'closed_at = now()',
  storeEnd: 'WITH read AS MATERIALIZED',
  claim: 'WITH waiting AS (',
  reserve: 'place_orders',
};

export const BEGINNINGS = {
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

/** Ends the time in which dead replicas may read rentals' ends. No other replica may run meanwhile. */
export const READINGS_END = `
  UPDATE orders SET end_read_at = end_read_at - interval '1 hour'
   WHERE state = 'reserved' AND date_end_before IS NULL`;

/** Ends the leases of dead replicas. No other replica may run a job meanwhile. */
export const LEASES_END = 'UPDATE job_runs SET leased_until = now() WHERE finished_at IS NULL';
