import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { runAs } from '../../src/local/postgres/embedded-account';
import { type Cluster, getCluster } from '../../src/local/postgres/embedded-cluster';
import {
  acquireEmbeddedPostgres,
  type EmbeddedPostgres,
  findServer,
  startServer,
} from '../../src/local/postgres/embedded-postgres';
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
  const acquire = (): Promise<EmbeddedPostgres> => acquireEmbeddedPostgres({ dataDir, onNote });
  const isRunning = async (): Promise<boolean> => (await findServer(cluster)) !== null;

  beforeAll(async () => {
    dataDir = await createTestDirectory();
    cluster = await getCluster(dataDir, onNote);
  });

  afterAll(async () => {
    await removeTestDirectory(dataDir);
  });

  it('has a UTF-8 database that loses nothing it has committed', async () => {
    const postgres = await acquire();
    const rows = await query(
      postgres,
      `SELECT current_database() AS name, getdatabaseencoding() AS encoding,
         current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
         lower('ЁÄ') AS lower`,
    );
    await postgres.release();

    expect(rows).toEqual([
      { name: 'proxy_rental', encoding: 'UTF8', fsync: 'on', commit: 'on', lower: 'ёä' },
    ]);
  });

  it('keeps its data between starts', async () => {
    const first = await acquire();
    await query(first, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.release();
    const second = await acquire();
    const rows = await query(second, 'SELECT * FROM kept');
    await second.release();

    expect(rows).toEqual([{ answer: 42 }]);
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

  it('is shared by all who use it, and stopped by the last', async () => {
    const first = await acquire();
    const second = await acquire();
    expect(second.url).toBe(first.url);

    await first.release();
    expect(await query(second, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await second.release();
    expect(await isRunning()).toBe(false);
  });

  it('is stopped when all leave at once, and released twice without harm', async () => {
    const users = await Promise.all([acquire(), acquire(), acquire()]);
    expect(new Set(users.map(({ url }) => url)).size).toBe(1);

    await Promise.all(users.flatMap((user) => [user.release(), user.release()]));
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

  it('says so when the server is killed while in use', async () => {
    const postgres = await acquire();
    notes.length = 0;
    await killServer(cluster);

    await eventually(() => notes.length > 0);
    expect(notes).toEqual([`The embedded PostgreSQL has ended. See ${cluster.logFile}`]);
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

  it('says its password in no log', async () => {
    const postgres = await acquire();
    await expect(query(postgres, 'SELECT nonsense')).rejects.toThrow('nonsense');
    await postgres.release();

    const log = await readFile(cluster.logFile, 'utf8');
    for (const url of [postgres.url, postgres.ownerUrl]) expect(log).not.toContain(new URL(url).password);
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
  it('gets one from several who start at once', async () => {
    const dataDir = await createTestDirectory(`"it's" $HOME`);
    const users = await Promise.all([1, 2].map(() => acquireEmbeddedPostgres({ dataDir, onNote })));
    expect(users[0]?.url).toBe(users[1]?.url);
    await Promise.all(users.map((user) => user.release()));

    expect(await readdir(dataDir)).toEqual(['postgres']);
    await removeTestDirectory(dataDir);
  });

  it('is not given a new one in place of one that has gone missing', async () => {
    const dataDir = await createTestDirectory();
    await symlink(join(dataDir, 'gone'), join(dataDir, 'postgres'));

    await expect(acquireEmbeddedPostgres({ dataDir, onNote })).rejects.toThrow(
      /points to a database that is gone/,
    );
    await rm(dataDir, { recursive: true });
  });
});

/** Starts an unused server. One that was killed before may still be ending. */
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
