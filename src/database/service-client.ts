import { Client, type ClientConfig } from 'pg';

/**
 * The `routine` field of the warning that PostgreSQL sends when a commit's wait for the standby is canceled.
 * Checked instead of the message, which may be localized.
 */
const WAIT_OF_A_COMMIT = 'SyncRepWaitForLSN';
/** SQLSTATE of the notice that report_events() raises. */
const EVENTS_WRITTEN = 'PRX01';
const READ_ONLY = '25006';
const CANNOT_CONNECT = '57P03';

/** Maximum wait for the first response on a new connection. */
const GREETING_MS = 5000;

export interface ServiceClientConfig extends ClientConfig {
  /** Time limit for a response; 0 for none. Must exceed the server's statement timeout. */
  readonly responseTimeoutMs?: number;
}

/** Thrown if a failover may undo a commit. Has no SQLSTATE, so that it is treated like a lost response. */
export class CommitNotOnStandby extends Error {
  constructor() {
    super("a commit's wait for the standby was canceled");
    this.name = CommitNotOnStandby.name;
  }
}

class DatabaseReadOnly extends Error {
  readonly code = READ_ONLY;

  constructor() {
    super('the database is a standby');
  }
}

export type SessionSettings = Readonly<Record<string, string>>;

/** Thrown if a session lacks our settings. Without them, commits may be lost, or statements may never end. */
class SessionSettingsLost extends Error {
  readonly code = CANNOT_CONNECT;

  constructor(differences: readonly string[]) {
    super(
      `Database sessions use ${differences.join(', ')}: remove the setting from the URL, or the pooler ` +
        'that drops `options` (docs/operations.md, "Database").',
    );
  }
}

/** Closes itself if a failover may undo a commit, the server refuses writes, or no response arrives. */
export class ServiceClient extends Client {
  private readonly responseTimeoutMs: number;
  private isCommitUncertain = false;
  hasWrittenEvents = false;

  constructor(config: ServiceClientConfig = {}) {
    super(config);
    this.responseTimeoutMs = config.responseTimeoutMs ?? 0;
    this.on('notice', ({ routine, code }) => {
      if (routine === WAIT_OF_A_COMMIT) this.isCommitUncertain = true;
      if (code === EVENTS_WRITTEN) this.hasWrittenEvents = true;
    });
    const query = this.query.bind(this) as (...parameters: unknown[]) => unknown;
    // Assign a property, because overriding the method would require copying all of pg's signatures.
    this.query = ((...parameters: unknown[]) => {
      const response = query(...parameters);
      return response instanceof Promise ? this.watch(response) : response;
    }) as Client['query'];
  }

  private async watch<Result>(response: Promise<Result>): Promise<Result> {
    const timer =
      this.responseTimeoutMs > 0 ? setTimeout(() => this.drop(), this.responseTimeoutMs) : undefined;
    try {
      const result = await response;
      if (this.isCommitUncertain) throw new CommitNotOnStandby();
      return result;
    } catch (error) {
      if (this.isCommitUncertain || (error as { code?: string }).code === READ_ONLY) this.drop();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  drop(): void {
    this.end().catch(() => undefined);
  }
}

/** Includes the start time, because a later session may have the same process id. */
export interface Session {
  readonly pid: number;
  readonly startedAt: string;
}

/**
 * Checks a new connection's session. Queries the process id, because a pooler reports a different one to the
 * client.
 * @throws DatabaseReadOnly if the server is a standby, whose data may be stale
 * @throws SessionSettingsLost if a pooler or the URL has changed the settings
 */
export async function prepareSession(
  client: Client,
  settings: SessionSettings,
): Promise<Session | undefined> {
  const timer = setTimeout(() => void client.end().catch(() => undefined), GREETING_MS);
  try {
    const { rows } = await client.query<Session & { isStandby: boolean; values: readonly string[] }>(
      // The view pg_stat_activity takes 9 ms longer (PostgreSQL 15, 2026-11-29).
      `SELECT pg_backend_pid() AS pid, pg_stat_get_backend_start(id)::text AS "startedAt",
              pg_is_in_recovery() AS "isStandby",
              ARRAY(SELECT current_setting(name) FROM unnest($1::text[]) AS name) AS values
         FROM pg_stat_get_backend_idset() AS id WHERE pg_stat_get_backend_pid(id) = pg_backend_pid()`,
      [Object.keys(settings)],
    );
    const [session] = rows;
    if (session?.isStandby) throw new DatabaseReadOnly();
    const differences = Object.entries(settings)
      .map(([name, value], n) => ({ name, value, found: session?.values[n] }))
      .filter(({ value, found }) => found?.startsWith(value) === false)
      .map(({ name, value, found }) => `${name} = ${found}, not ${value}`);
    if (differences.length > 0) throw new SessionSettingsLost(differences);
    return session;
  } finally {
    clearTimeout(timer);
  }
}
