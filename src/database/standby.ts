import type { DataSource } from 'typeorm';
import { groupedStatement } from './grouped-statement';
import { queryRows } from './sql';

/** Commits a WAL message, and waits until the standby has it and everything before it. */
const STATEMENT = `
  SELECT pg_logical_emit_message(true, 'proxy-rental', '')
   WHERE current_setting('synchronous_standby_names') <> ''`;

/** Limits for sharing a statement. A hanging statement delays the next one by at most a second. */
const GROUP = { maxItems: 1000, maxWaitMs: 1000 };

const waits = new WeakMap<DataSource, () => Promise<void>>();

/**
 * Waits until the synchronous standby, if any, has replicated every row that is visible now. Call it before
 * reporting or acting on rows that were only read: another session may have committed them without waiting
 * for the standby, because its wait was canceled or the server crashed. A failover would lose such rows.
 * @throws QueryFailedError
 */
export async function waitForStandby(dataSource: DataSource): Promise<void> {
  let wait = waits.get(dataSource);
  if (!wait) {
    wait = groupedStatement<void, void>(async (callers) => {
      await queryRows(dataSource, STATEMENT);
      return callers;
    }, GROUP);
    waits.set(dataSource, wait);
  }
  await wait();
}
