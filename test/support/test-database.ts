import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { createRoleStatement, dataSourceOptions, migrate, migrations } from '../../src/database';
import { shared } from '../jest/shared';

/** The advisory lock of the one test file that makes the template. */
const TEMPLATE_LOCK = 41;
const SERVICE_ROLE = { username: 'proxy_rental_test', password: 'password-of-tests' };

export interface DatabaseUrls {
  readonly url: string;
  /** For the tables' owner, a superuser. */
  readonly ownerUrl: string;
}

export interface TestDatabase extends DatabaseUrls {
  drop(): Promise<void>;
}

const serverUrl = (): string => {
  const url = process.env['TEST_POSTGRES_URL'];
  if (!url) throw new Error('the global setup of the tests has not run');
  return url;
};

const addressOf = (database: string): DatabaseUrls => {
  const owner = { pathname: `/${database}` };
  return {
    url: Object.assign(new URL(serverUrl()), owner, SERVICE_ROLE).href,
    ownerUrl: Object.assign(new URL(serverUrl()), owner).href,
  };
};

export async function connectClient(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

const connectAdmin = (): Promise<Client> => (shared.admin ??= connectClient(serverUrl()));

/** Depends on migrations and rights, because a server may outlive a run. */
function templateName(): string {
  const hash = createHash('sha256');
  for (const migration of migrations) hash.update(String(migration));
  const directory = join(__dirname, '../../src/database');
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    if (name.endsWith('.sql') || name === 'service-role.ts') hash.update(readFileSync(join(directory, name)));
  }
  return `template_${hash.digest('hex').slice(0, 12)}`;
}

async function ensureTemplate(admin: Client): Promise<string> {
  const name = templateName();
  await admin.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
  try {
    if ((await admin.query('SELECT FROM pg_database WHERE datname = $1', [name])).rowCount) return name;
    await admin.query(`CREATE DATABASE ${name}_raw`);
    await migrate(addressOf(`${name}_raw`));
    await admin.query(`ALTER DATABASE ${name}_raw RENAME TO ${name}`);
    return name;
  } finally {
    await admin.query('SELECT pg_advisory_unlock($1)', [TEMPLATE_LOCK]);
  }
}

export function connectTo(url: string, poolSize = 2): Promise<DataSource> {
  const options = dataSourceOptions({ url, poolSize, applicationName: 'test' });
  // Reconnecting would cost 30 ms.
  return new DataSource({ ...options, extra: { ...options.extra, idleTimeoutMillis: 0 } }).initialize();
}

export const connectAsOwner = ({ ownerUrl }: DatabaseUrls): Promise<DataSource> => connectTo(ownerUrl);

async function dropDatabase(name: string): Promise<void> {
  const admin = await connectAdmin();
  await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
}

/** The source's sessions end, and none begins until the copy is complete. */
export async function copyTestDatabase({ url }: Pick<DatabaseUrls, 'url'>): Promise<TestDatabase> {
  const source = new URL(url).pathname.slice(1);
  const name = `test_${randomBytes(6).toString('hex')}`;
  const admin = await connectAdmin();
  await admin.query(`ALTER DATABASE ${source} ALLOW_CONNECTIONS false`);
  await admin.query('SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1', [
    source,
  ]);
  await admin.query(`CREATE DATABASE ${name} TEMPLATE ${source} STRATEGY FILE_COPY`);
  await admin.query(`ALTER DATABASE ${source} ALLOW_CONNECTIONS true`);
  await admin.query(`REVOKE TEMPORARY ON DATABASE ${name} FROM PUBLIC`);
  return { ...addressOf(name), drop: () => dropDatabase(name) };
}

export async function createTestDatabase({ migrated = true } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const admin = await connectAdmin();
  await admin.query(createRoleStatement(addressOf(name).url));
  const template = migrated && (await (shared.template ??= ensureTemplate(admin)));
  // Copying files takes half as long as the write-ahead log, the default.
  await admin.query(`CREATE DATABASE ${name} ${template ? `TEMPLATE ${template} STRATEGY FILE_COPY` : ''}`);
  // A copy lacks the rights on the database itself.
  await admin.query(`REVOKE TEMPORARY ON DATABASE ${name} FROM PUBLIC`);
  return { ...addressOf(name), drop: () => dropDatabase(name) };
}
