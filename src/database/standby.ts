import type { DataSource } from 'typeorm';
import { groupedStatement } from './grouped-statement';
import { queryRows } from './sql';

/** Commits a WAL message. The commit waits until the standby has everything written before the message. */
const STATEMENT = `
  SELECT pg_logical_emit_message(true, 'proxy-rental', '')
   WHERE current_setting('synchronous_standby_names') <> ''`;

const GROUP = { maxItems: 1000, maxWaitMs: 1000 };

const waits = new WeakMap<DataSource, () => Promise<void>>();

/**
 * Waits until the synchronous standby, if any, has every row that is visible now. Call it before acting on
 * rows that another session wrote: if that session has not waited for the standby, a failover would lose the
 * rows.
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
