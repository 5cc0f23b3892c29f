import type { DataSource } from 'typeorm';
import { groupedStatement } from './grouped-statement';
import { queryRows } from './sql';

/** Each commit waits for the standby until the standby has it and everything before it. */
const STATEMENT = `
  SELECT pg_logical_emit_message(true, 'proxy-rental', '')
   WHERE current_setting('synchronous_standby_names') <> ''`;

/** Many wait together. One that hangs does not keep the others from trying. */
const GROUP = { maxItems: 1000, maxWaitMs: 1000 };

const waits = new WeakMap<DataSource, () => Promise<void>>();

/**
 * Waits until the synchronous standby has everything that was visible before. What is visible may be lost by
 * a failover all the same: the wait of its commit was cancelled, or the primary crashed during it and is up
 * again. Whoever tells or does something because of what was read, and not because a statement of its own was
 * confirmed, calls this first. Without a synchronous standby it asks one question and waits for nothing.
 *
 * @throws QueryFailedError
 */
export async function untilReplicated(dataSource: DataSource): Promise<void> {
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
