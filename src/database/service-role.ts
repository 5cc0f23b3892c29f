import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { escapeIdentifier, escapeLiteral } from 'pg';
import { type Queryable, queryRow, queryRows } from './sql';

const ROWS = 'SELECT, INSERT, UPDATE, DELETE';

/** Privileges on tables that the service's role may not freely read and write. */
const RIGHTS: Readonly<Record<string, string>> = {
  accounts: 'SELECT, UPDATE (low_balance)',
  audit_runs: 'SELECT, INSERT, DELETE',
  default_markups: 'SELECT, INSERT',
  deposit_refunds: 'SELECT, INSERT, UPDATE',
  events: 'SELECT, INSERT (user_id, type, data), DELETE',
  installation: 'SELECT',
  installed_functions: 'SELECT',
  ledger_entries: 'SELECT, INSERT',
  migrations: 'SELECT',
  payments: 'SELECT, INSERT, UPDATE',
  price_rules: 'SELECT, INSERT, UPDATE',
  price_rules_revision: 'SELECT, UPDATE (revision)',
  proxy_changes: 'SELECT',
  proxy_refunds: 'SELECT, INSERT, UPDATE',
  refund_rule: 'SELECT, UPDATE',
  renewals_pause: 'SELECT, UPDATE (paused_at, paused_reason)',
  audit_log: 'SELECT, INSERT',
  sweep_sightings: `${ROWS}, TRUNCATE`,
};

const SCRAM_ITERATIONS = 4096;

/** Functions that only the service's role and the owner may execute. */
const FUNCTIONS = [
  'lock_accounts(bigint[])',
  'skip_ids(bigint)',
  'publish_events(integer)',
  'forget_staff_reads(bigint, integer, integer)',
  'erase_audit_lines(bigint, boolean)',
];

export function createRoleStatement(url: string): string {
  const { username, password } = new URL(url);
  const name = escapeLiteral(decodeURIComponent(username));
  const secret = escapeLiteral(scramVerifier(decodeURIComponent(password)));
  return `
    DO $create_role$ BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = ${name}) THEN
        EXECUTE format('CREATE ROLE %I LOGIN PASSWORD %L', ${name}, ${secret});
      END IF;
    -- Another process has created the role.
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END $create_role$`;
}

/** Returns a password verifier (RFC 5803), so that the server's logs never contain the password. */
function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, SCRAM_ITERATIONS, 32, 'sha256');
  const hmac = (text: string) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64');
  const serverKey = hmac('Server Key').toString('base64');
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

/**
 * Must run in the transaction that installs the functions. Replicas of the previous version use the new
 * functions immediately, and would fail if they had no privileges on new tables.
 */
export async function grantServiceRole(owner: Queryable, roleName: string): Promise<void> {
  const role = escapeIdentifier(roleName);
  const database = await queryRow<{ name: string }>(owner, 'SELECT current_database() AS name');
  const tables = await queryRows<{ name: string }>(
    owner,
    `SELECT relname AS name FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
        AND pg_has_role(relowner, 'USAGE')
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')`,
  );
  const functions = await queryRows<{ name: string }>(
    owner,
    'SELECT name FROM unnest($1::text[]) AS name WHERE to_regprocedure(name) IS NOT NULL',
    [FUNCTIONS],
  );
  const databaseName = escapeIdentifier(database.name);
  await owner.query(
    [
      `REVOKE CREATE, TEMPORARY ON DATABASE ${databaseName} FROM PUBLIC, ${role}`,
      `GRANT CONNECT ON DATABASE ${databaseName} TO ${role}`,
      `REVOKE CREATE ON SCHEMA public FROM PUBLIC, ${role}`,
      `GRANT USAGE ON SCHEMA public TO ${role}`,
      `GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${role}`,
      ...tables.flatMap(({ name }) => [
        `REVOKE ALL ON ${escapeIdentifier(name)} FROM PUBLIC, ${role}`,
        `GRANT ${RIGHTS[name] ?? ROWS} ON ${escapeIdentifier(name)} TO ${role}`,
      ]),
      ...functions.map(({ name }) => `GRANT EXECUTE ON FUNCTION ${name} TO ${role}`),
    ].join('; '),
  );
}

export async function findExcessiveRights(dataSource: Queryable): Promise<string[]> {
  const rights = await queryRows<{ name: string }>(
    dataSource,
    `WITH own AS (SELECT * FROM pg_roles WHERE rolname = current_user)
     SELECT name FROM own, LATERAL (VALUES
       ('is a superuser', rolsuper),
       ('may create roles', rolcreaterole AND NOT rolsuper),
       ('may create databases', rolcreatedb AND NOT rolsuper),
       ('owns tables of the service', EXISTS (
          SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
             AND pg_has_role(relowner, 'MEMBER'))),
       ('owns the database', EXISTS (
          SELECT FROM pg_database WHERE datname = current_database() AND pg_has_role(datdba, 'MEMBER'))),
       ('may create temporary tables', has_database_privilege(current_database(), 'TEMPORARY')),
       ('may create tables and functions', has_database_privilege(current_database(), 'CREATE')
          OR has_schema_privilege('public', 'CREATE')),
       ('may disable triggers', has_parameter_privilege('session_replication_role', 'SET')),
       ('may write to accounts', has_table_privilege('accounts', 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')
          OR EXISTS (
            SELECT FROM pg_attribute
             WHERE attrelid = 'accounts'::regclass AND attnum > 0 AND attname <> 'low_balance'
               AND NOT attisdropped
               AND has_column_privilege(attrelid, attnum, 'INSERT, UPDATE'))),
       ('may change ledger entries', has_table_privilege('ledger_entries', 'DELETE, TRUNCATE, TRIGGER')
          OR has_any_column_privilege('ledger_entries', 'UPDATE')),
       ('may change the log of what staff do',
          has_table_privilege('audit_log', 'DELETE, TRUNCATE, TRIGGER')
          OR has_any_column_privilege('audit_log', 'UPDATE'))
     ) AS rights (name, is_given)
     WHERE is_given`,
  );
  return rights.map(({ name }) => name);
}
