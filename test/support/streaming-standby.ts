import { Client, type ClientConfig } from 'pg';
import { eventually } from './built-service';
import { connectClient } from './test-database';

const SLOT = 'standby_of_a_test';

/** A standby as the primary sees it: a session that streams its log through a replication slot. */
export async function connectStreamingStandby(ownerUrl: string): Promise<{ leave(): Promise<void> }> {
  const owner = await connectClient(ownerUrl);
  // pg passes this parameter on, but its types lack it.
  const replicating: ClientConfig & { replication: string } = {
    connectionString: ownerUrl,
    replication: 'true',
  };
  const standby = new Client(replicating);
  standby.on('error', () => undefined);
  await standby.connect();
  await standby.query(`CREATE_REPLICATION_SLOT ${SLOT} PHYSICAL RESERVE_WAL`);
  const { rows } = await standby.query<{ xlogpos: string }>('IDENTIFY_SYSTEM');
  // The statement ends with the session.
  standby.query(`START_REPLICATION SLOT ${SLOT} PHYSICAL ${rows[0]?.xlogpos}`).catch(() => undefined);
  await eventually(async () =>
    Boolean((await owner.query(`SELECT FROM pg_stat_replication WHERE state = 'streaming'`)).rowCount),
  );
  return {
    async leave() {
      await owner.query('SELECT pg_terminate_backend(active_pid, 5000) FROM pg_replication_slots');
      await eventually(async () => {
        const { rowCount } = await owner.query(
          'SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active',
        );
        return Boolean(rowCount);
      });
      await standby.end().catch(() => undefined);
      await owner.end();
    },
  };
}
