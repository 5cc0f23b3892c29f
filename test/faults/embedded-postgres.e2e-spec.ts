import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { runAs } from '../../src/local/postgres/embedded-account';
import { type Cluster, getCluster } from '../../src/local/postgres/embedded-cluster';
import { acquireEmbeddedPostgres, type EmbeddedPostgres } from '../../src/local/postgres/embedded-postgres';
import { findServer, startServer } from '../../src/local/postgres/embedded-server';
import { eventually } from '../support/built-service';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

const run = promisify(execFile);
const notes: string[] = [];
const onNote = (line: string): void => {
  notes.push(line);
};

async function query({ ownerUrl }: EmbeddedPostgres, sql: string, url = ownerUrl): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('the embedded PostgreSQL of a data directory', () => {
  let dataDir: string;
  let cluster: Cluster;
  let creators: readonly EmbeddedPostgres[];
  let created: readonly string[];
  const acquire = (): Promise<EmbeddedPostgres> => acquireEmbeddedPostgres({ dataDir, onNote });
  const isRunning = async (): Promise<boolean> => (await findServer(cluster)) !== null;

  beforeAll(async () => {
    dataDir = await createTestDirectory(`"it's" $HOME`);
    creators = await Promise.all([acquire(), acquire()]);
    await Promise.all(creators.map((user) => user.release()));
    created = await readdir(dataDir);
    cluster = await getCluster(dataDir, onNote);
  });

  afterAll(async () => {
    await removeTestDirectory(dataDir);
  });

  it('is created once by several who start at once', () => {
    expect(creators[0]?.url).toBe(creators[1]?.url);
    expect(created).toEqual(['postgres']);
  });

  it('loses nothing it has committed, and says its password in no log', async () => {
    const first = await acquire();
    const rows = await query(
      first,
      `SELECT current_database() AS name, getdatabaseencoding() AS encoding,
         current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
         lower('ЁÄ') AS lower`,
    );
    await query(first, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await expect(query(first, 'SELECT nonsense')).rejects.toThrow('nonsense');
    await first.release();
    expect(rows).toEqual([
      { name: 'proxy_rental', encoding: 'UTF8', fsync: 'on', commit: 'on', lower: 'ёä' },
    ]);
    const second = await acquire();
    const kept = await query(second, 'SELECT * FROM kept');
    await second.release();
    expect(kept).toEqual([{ answer: 42 }]);
    const log = await readFile(cluster.logFile, 'utf8');
    for (const url of [first.url, first.ownerUrl]) expect(log).not.toContain(new URL(url).password);
  });

  it('is backed up by a copy of its folder, and restored by copying it back', async () => {
    const before = await acquire();
    await query(before, 'CREATE TABLE sold AS SELECT 1 AS orders');
    await before.release();
    const backup = join(dataDir, 'backup');
    // The lines of operations/backup.md.
    await run('cp', ['-a', `${join(dataDir, 'postgres')}/.`, backup]);
    const later = await acquire();
    await query(later, 'UPDATE sold SET orders = 2');
    await later.release();
    await run('rm', ['-r', join(dataDir, 'postgres', 'data')]);
    await run('cp', ['-a', `${backup}/.`, join(dataDir, 'postgres')]);
    const restored = await acquire();
    expect(await query(restored, 'SELECT orders FROM sold')).toEqual([{ orders: 1 }]);
    await restored.release();
  });

  it('is shared by all, stopped when the last leave at once, and released twice without harm', async () => {
    const users = await Promise.all([acquire(), acquire(), acquire()]);
    expect(new Set(users.map(({ url }) => url)).size).toBe(1);
    const [first, ...last] = users;
    await first.release();
    for (const user of last) expect(await query(user, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await Promise.all(last.flatMap((user) => [user.release(), user.release()]));
    expect(await isRunning()).toBe(false);
  });

  it('starts again for one who comes while the last is leaving', async () => {
    const leaving = await acquire();
    const [, coming] = await Promise.all([leaving.release(), acquire()]);
    expect(await query(coming, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await coming.release();
    expect(await isRunning()).toBe(false);
  });

  it('takes over a server that its user left running', async () => {
    await startAlone(cluster);
    const abandoned = await findServer(cluster);
    const postgres = await acquire();
    expect(new URL(postgres.url).port).toBe(String(abandoned?.port));
    await postgres.release();
    expect(await isRunning()).toBe(false);
  });

  it('recovers when the server itself was killed', async () => {
    await startAlone(cluster);
    await killServer(cluster);
    const postgres = await acquire();
    expect(await query(postgres, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await postgres.release();
  });

  it('is started again on its port by its users when the server is killed', async () => {
    const users = await Promise.all([acquire(), acquire()]);
    notes.length = 0;
    await killServer(cluster);
    await eventually(() => notes.length === 4);
    expect(notes.toSorted()).toEqual([
      ...users.map(() => `The embedded PostgreSQL has stopped. See ${cluster.logFile}`),
      ...users.map(() => 'The embedded PostgreSQL is running again.'),
    ]);
    for (const user of users) expect(await query(user, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await Promise.all(users.map((user) => user.release()));
    expect(await isRunning()).toBe(false);
  });

  it('is not stopped by a second user once the first has joined again after a killed backend', async () => {
    const service = await acquire();
    const lockPid = async (): Promise<number | undefined> => {
      const sql = `SELECT pid FROM pg_stat_activity WHERE application_name = 'embedded-postgres-use'`;
      return ((await query(service, sql)) as { pid: number }[])[0]?.pid;
    };
    const lost = await lockPid();
    const session = new Client({ connectionString: service.url });
    session.on('error', () => undefined);
    await session.connect();
    const { rows } = await session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    process.kill(rows[0]?.pid ?? 0, 'SIGKILL');
    await eventually(async () => {
      const current = await lockPid().catch(() => undefined);
      return current !== undefined && current !== lost;
    });
    const command = await acquire();
    await command.release();
    expect(await query(service, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await service.release();
    expect(await isRunning()).toBe(false);
  });

  it('is not stopped while sessions of a service remain', async () => {
    const leaving = await acquire();
    const session = new Client({ connectionString: leaving.url });
    await session.connect();
    await leaving.release();
    expect((await session.query('SELECT')).rowCount).toBe(1);
    await session.end();
    await (await acquire()).release();
    expect(await isRunning()).toBe(false);
  });

  it('is lost to its users if it cannot be started again', async () => {
    const configuration = join(cluster.dataDirectory, 'postgresql.conf');
    const good = await readFile(configuration, 'utf8');
    const postgres = await acquire();
    await writeFile(configuration, 'shared_buffers = much');
    await killServer(cluster);
    await expect(postgres.lost).rejects.toThrow(/^The embedded PostgreSQL did not start .*shared_buffers.*$/);
    await writeFile(configuration, good);
    await postgres.release();
  });

  it('can be released just after the server was killed', async () => {
    const postgres = await acquire();
    await killServer(cluster);
    await postgres.release();
    expect(await isRunning()).toBe(false);
  });

  it('is not mistaken for another program that has its old process number', async () => {
    await startAlone(cluster);
    const pidFile = join(cluster.dataDirectory, 'postmaster.pid');
    const recorded = await readFile(pidFile, 'utf8');
    await killServer(cluster);
    const other: ChildProcess = spawn('sleep', ['60'], {
      ...runAs(cluster.account),
      cwd: '/',
      stdio: 'ignore',
    });
    await once(other, 'spawn');
    await writeFile(pidFile, recorded.replace(/^\d+/, String(other.pid)));
    const postgres = await acquire();
    await postgres.release();
    expect(other.exitCode ?? other.signalCode).toBeNull();
    other.kill('SIGKILL');
    await once(other, 'exit');
  });

  it('starts from a copy of its data while the original runs', async () => {
    await (await acquire()).release();
    const copy = await createTestDirectory();
    await run('cp', ['-a', join(dataDir, 'postgres'), copy]);
    const original = await acquire();
    const pidFile = join('postgres', 'data', 'postmaster.pid');
    await run('cp', ['-a', join(dataDir, pidFile), join(copy, pidFile)]);
    const beside = await acquireEmbeddedPostgres({ dataDir: copy, onNote });
    expect(beside.url).not.toBe(original.url);
    for (const user of [beside, original]) await user.release();
    await removeTestDirectory(copy);
  });

  it.each([
    ['empty', ''],
    ['full of NULs', '\0'.repeat(100)],
  ])(
    'starts after a power cut that left postmaster.pid %s, once no process uses the data',
    async (_, text) => {
      const pidFile = join(cluster.dataDirectory, 'postmaster.pid');
      const orphan = spawn('sleep', ['60'], { cwd: cluster.dataDirectory, stdio: 'ignore' });
      await once(orphan, 'spawn');
      await writeFile(pidFile, text);
      let isAcquired = false;
      const acquiring = acquire().finally(() => (isAcquired = true));
      notes.length = 0;
      await pause(500);
      await utimes(pidFile, 0, 0);
      await pause(500);
      expect([isAcquired, await readFile(pidFile, 'utf8')]).toEqual([false, text]);
      orphan.kill('SIGKILL');
      await (await acquiring).release();
      expect(notes).toEqual([
        `Removed ${pidFile}, which was unreadable, probably because of a power failure.`,
      ]);
    },
  );

  it('is waited for while it replays its log, however long', async () => {
    const configuration = join(cluster.dataDirectory, 'postgresql.auto.conf');
    await writeFile(configuration, "restore_command = 'sleep 1.5; false'\nhot_standby = off\n");
    const signal = join(cluster.dataDirectory, 'recovery.signal');
    await writeFile(signal, '');
    await chown(signal, cluster.account.uid, cluster.account.gid);
    const joinTimeoutMs = 1500;
    const users = [1, 2].map(() => acquireEmbeddedPostgres({ dataDir, onNote, joinTimeoutMs }));
    await Promise.all((await Promise.all(users)).map((user) => user.release()));
    await writeFile(configuration, '');
  });

  it('gives one clear line when the server cannot start', async () => {
    const configuration = join(cluster.dataDirectory, 'postgresql.conf');
    const good = await readFile(configuration, 'utf8');
    await writeFile(configuration, 'shared_buffers = much');
    try {
      await expect(acquire()).rejects.toThrow(/^The embedded PostgreSQL did not start .*shared_buffers.*$/);
    } finally {
      await writeFile(configuration, good);
    }
  });
});

describe('a data directory without a database', () => {
  it('is not given a new one in place of one that has gone missing', async () => {
    const dataDir = await createTestDirectory();
    await symlink(join(dataDir, 'gone'), join(dataDir, 'postgres'));
    await expect(acquireEmbeddedPostgres({ dataDir, onNote })).rejects.toThrow(
      /points to a database that no longer exists/,
    );
    await rm(dataDir, { recursive: true });
  });
});

/** A server that was killed may still be ending. */
async function startAlone(cluster: Cluster): Promise<void> {
  await eventually(async () => {
    await startServer(cluster);
    return findServer(cluster);
  });
}

async function killServer(cluster: Cluster): Promise<void> {
  const server = await findServer(cluster);
  if (server === null) throw new Error('There is no server to kill');
  process.kill(server.pid, 'SIGKILL');
  await eventually(async () => (await findServer(cluster))?.pid !== server.pid);
}
