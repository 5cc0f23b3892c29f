import { inTransaction } from '../../src/database';
import type { TestService } from './test-service';

/** For tests of what concerns all users, without a service of their own. */
export async function emptyDatabase({ owner }: Pick<TestService, 'owner'>): Promise<void> {
  // Disables the triggers of append-only tables, and retries after a deadlock with a job.
  await inTransaction(owner, (manager) =>
    manager.query(
      `SET LOCAL session_replication_role = replica;
       DO $$
       DECLARE
         emptied regclass;
       BEGIN
         FOR emptied IN
           WITH RECURSIVE found (id) AS (
             SELECT unnest('{users, orders, proxies, proxy_changes, events, unmatched_proxies, job_runs,
                             completed_sweeps, audit_log, retention_marks, sales_days,
                             sales_rollup}'::regclass[])::oid
             UNION SELECT conrelid FROM pg_constraint JOIN found ON confrelid = found.id
           )
           SELECT id FROM found
         LOOP
           -- In a quarter of the time of TRUNCATE, which makes new files of each table and index.
           EXECUTE format('DELETE FROM %s', emptied);
         END LOOP;
       END $$`,
    ),
  );
}
