import type { DataSource } from 'typeorm';
import { groupedStatement } from './grouped-statement';
import { queryRows } from './sql';

/** Commits a message. The commit waits until the standby has the message and everything before it. */
const STATEMENT = `
  SELECT pg_logical_emit_message(true, 'proxy-rental', '')
   WHERE current_setting('synchronous_standby_names') <> ''`;

/** Limits for grouping callers into one statement. A statement that hangs does not block the next ones. */
const GROUP = { maxItems: 1000, maxWaitMs: 1000 };

const waits = new WeakMap<DataSource, () => Promise<void>>();

/**
 * Waits until the synchronous standby, if any, has all visible rows. Must be called before reporting or
 * acting on rows that were read rather than confirmed by one's own statement. A failover may lose such rows
 * if their commit stopped waiting for the standby, by cancellation or a crash. @throws QueryFailedError
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
