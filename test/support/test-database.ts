import { createHash, randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { migrate, migrations } from '../../src/database';

/** The advisory lock under which one test file makes the template while the others wait. */
const TEMPLATE_LOCK = 41;

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

const serverUrl = (): string => {
  const url = process.env['TEST_POSTGRES_URL'];
  if (!url) throw new Error('the global setup of the tests has not run');
  return url;
};

const urlOf = (database: string): string =>
  Object.assign(new URL(serverUrl()), { pathname: `/${database}` }).href;

async function asAdmin<Result>(work: (admin: Client) => Promise<Result>): Promise<Result> {
  const admin = new Client({ connectionString: serverUrl() });
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}

/** The name depends on the migrations, so that a server that outlives a run never serves an old schema. */
function templateName(): string {
  const hash = createHash('sha256');
  for (const migration of migrations) hash.update(String(migration));
  return `template_${hash.digest('hex').slice(0, 12)}`;
}

async function ensureTemplate(admin: Client, name: string): Promise<void> {
  await admin.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
  try {
    const { rowCount } = await admin.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (rowCount) return;
    await admin.query(`CREATE DATABASE ${name}_raw`);
    await migrate(urlOf(`${name}_raw`));
    await admin.query(`ALTER DATABASE ${name}_raw RENAME TO ${name}`);
  } finally {
    await admin.query('SELECT pg_advisory_unlock($1)', [TEMPLATE_LOCK]);
  }
}

/** Creates a database with the schema of all migrations, or an empty one. */
export async function createTestDatabase({ migrated = true } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asAdmin(async (admin) => {
    const template = templateName();
    if (migrated) await ensureTemplate(admin, template);
    // A copy of files takes half as long as one through the write-ahead log, which is the default.
    await admin.query(`CREATE DATABASE ${name} ${migrated ? `TEMPLATE ${template} STRATEGY FILE_COPY` : ''}`);
  });
  return {
    url: urlOf(name),
    drop: () => asAdmin(async (admin) => void (await admin.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  };
}
