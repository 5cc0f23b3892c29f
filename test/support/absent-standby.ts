import { Client } from 'pg';
import { eventually } from './built-service';
import { connectClient } from './test-database';

export interface AbsentStandby {
  leave(): Promise<void>;
  comeBack(): Promise<void>;
  /** Waits for a session whose statement contains the text and whose commit waits. Gives its process id. */
  waitingFor(statement: string): Promise<number>;
  cancel(pid: number, how?: 'pg_cancel_backend' | 'pg_terminate_backend'): Promise<void>;
  close(): Promise<void>;
}

/** @param ownerUrl of a superuser on a server that no other test uses */
export async function connectAbsentStandby(ownerUrl: string): Promise<AbsentStandby> {
  const owner = await connectClient(ownerUrl);
  await owner.query('SET synchronous_commit = local');
  await owner.query('CREATE TABLE probes (id integer)');

  const waiting = async (statement: string): Promise<number | undefined> => {
    const { rows } = await owner.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity
        WHERE wait_event = 'SyncRep' AND query LIKE '%' || $1 || '%' AND pid <> pg_backend_pid()`,
      [statement],
    );
    return rows[0]?.pid;
  };
  const setStandby = async (name: string): Promise<void> => {
    await owner.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
    await owner.query('SELECT pg_reload_conf()');
  };
  return {
    async leave() {
      await setStandby('absent');
      // The server takes a moment to notice: until then, commits pass.
      await eventually(async () => {
        const probe = new Client({ connectionString: ownerUrl });
        probe.on('error', () => undefined);
        await probe.connect();
        let hasPassed = false;
        const commit = probe
          .query('INSERT INTO probes VALUES (1)')
          .then(() => (hasPassed = true))
          .catch(() => undefined);
        const pid = await eventually(async () => hasPassed || (await waiting('INTO probes')));
        if (pid !== true) await owner.query('SELECT pg_terminate_backend($1)', [pid]);
        await commit;
        await probe.end().catch(() => undefined);
        return !hasPassed;
      });
    },
    comeBack: () => setStandby(''),
    waitingFor: (statement) => eventually(() => waiting(statement)),
    async cancel(pid, how = 'pg_cancel_backend') {
      await owner.query(`SELECT ${how}($1)`, [pid]);
    },
    async close() {
      await setStandby('');
      await owner.end();
    },
  };
}
