import type { DataSource } from 'typeorm';
import { groupedStatement } from './grouped-statement';
import { queryRows } from './sql';

/** A commit waits until the standby has it and everything before it. */
const STATEMENT = `
  SELECT pg_logical_emit_message(true, 'proxy-rental', '')
   WHERE current_setting('synchronous_standby_names') <> ''`;

/** Many callers share a statement. One that hangs does not block the next ones. */
const GROUP = { maxItems: 1000, maxWaitMs: 1000 };

const waits = new WeakMap<DataSource, () => Promise<void>>();

/**
 * Waits until the synchronous standby has all rows that were visible before. A failover may still lose
 * visible rows: the wait of their commit was cancelled, or the primary crashed during it and restarted. Call
 * this before reporting or acting on rows that were read, rather than confirmed by one's own statement.
 * Without a synchronous standby it sends one query and does not wait.
 *
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
