import type { DataSource } from 'typeorm';
import { eventually } from './built-service';
import { connectClient } from './test-database';

const WAITING = `
  SELECT FROM pg_stat_activity
   WHERE datname = current_database() AND wait_event_type = 'Lock' AND strpos(query, $1) > 0`;

export interface HeldLock {
  untilWaiting(text: string, sessions?: number): Promise<void>;
  release(): Promise<void>;
}

/** Blocks writes to a table, and in exclusive mode also row locks. */
export async function lockTable(
  ownerUrl: string,
  table: 'orders' | 'accounts',
  mode: 'SHARE' | 'EXCLUSIVE',
): Promise<HeldLock> {
  const client = await connectClient(ownerUrl);
  await client.query(`BEGIN; LOCK TABLE ${table} IN ${mode} MODE`);
  return {
    async untilWaiting(text, sessions = 1) {
      await eventually(async () => {
        // Otherwise a transaction always sees the same activity.
        await client.query('SELECT pg_stat_clear_snapshot()');
        return ((await client.query(WAITING, [text])).rowCount ?? 0) >= sessions;
      });
    },
    release: () => client.end(),
  };
}

export const countWaiting = async (owner: DataSource, text = ''): Promise<number> =>
  (await owner.query<unknown[]>(WAITING, [text])).length;

export async function untilWaiting(owner: DataSource, text = '', sessions = 1): Promise<void> {
  await eventually(async () => (await countWaiting(owner, text)) >= sessions);
}

export async function lockRow(dataSource: DataSource, statement: string): Promise<Pick<HeldLock, 'release'>> {
  const runner = dataSource.createQueryRunner();
  await runner.startTransaction();
  await runner.query(statement);
  return {
    async release() {
      await runner.rollbackTransaction();
      await runner.release();
    },
  };
}
