import { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { eventually } from './built-service';

export interface HeldLock {
  /** Waits until as many sessions wait for a lock in a statement that begins with the text. */
  untilWaiting(beginning: string, sessions?: number): Promise<void>;
  release(): Promise<void>;
}

/** Keeps everybody from writing to a table, and in exclusive mode also from locking its rows. */
export async function lockTable(
  ownerUrl: string,
  table: 'orders' | 'accounts',
  mode: 'SHARE' | 'EXCLUSIVE',
): Promise<HeldLock> {
  const client = new Client({ connectionString: ownerUrl });
  await client.connect();
  await client.query(`BEGIN; LOCK TABLE ${table} IN ${mode} MODE`);
  return {
    async untilWaiting(beginning, sessions = 1) {
      await eventually(async () => {
        // A transaction sees the same activity until it says otherwise.
        await client.query('SELECT pg_stat_clear_snapshot()');
        const { rowCount } = await client.query(
          `SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND starts_with(query, $1)`,
          [beginning],
        );
        return (rowCount ?? 0) >= sessions;
      });
    },
    release: () => client.end(),
  };
}

/** Waits until as many sessions wait for a lock in a statement with the text in it. */
export async function untilWaiting(owner: DataSource, text: string, sessions = 1): Promise<void> {
  await eventually(async () => {
    const waiting: unknown[] = await owner.query(
      `SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND strpos(query, $1) > 0`,
      [text],
    );
    return waiting.length >= sessions;
  });
}

/** Holds the lock of a statement in a transaction of its own. */
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
