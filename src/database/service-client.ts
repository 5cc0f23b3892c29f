import { Client, type ClientConfig } from 'pg';

/** The function of PostgreSQL that says that a commit is no longer waited for: its text is translated. */
const WAIT_OF_A_COMMIT = 'SyncRepWaitForLSN';
const READ_ONLY = '25006';

/** A connection that takes this long to its first answer leads to a server that hangs. */
const GREETING_MS = 5000;

/** Options of the service's connections beside those of pg. */
export interface ServiceClientConfig extends ClientConfig {
  /** How long an answer is waited for; 0: for ever. Longer than the server's own limit of a statement. */
  readonly answerTimeoutMs?: number;
}

/**
 * A commit that no standby may have: its wait for the standby was cancelled. It is there, everybody sees it,
 * and a failover may take it back. It has no SQLSTATE, so that it counts as a statement without an answer.
 */
export class CommitNotReplicated extends Error {
  constructor() {
    super('the wait of a commit for the standby was cancelled');
    this.name = CommitNotReplicated.name;
  }
}

/** The connection leads to a standby, or to a primary that takes no writes. */
class DatabaseReadOnly extends Error {
  readonly code = READ_ONLY;

  constructor() {
    super('the database is a standby');
  }
}

/**
 * A connection of the service to a database that may fail over. It ends itself, so that the pool opens
 * another one, when
 *
 * - a commit is not known to be replicated: the statement fails as one without an answer;
 * - the server takes no writes, because it is no longer the primary;
 * - no answer comes: a machine that hangs closes no connection, and neither does one that is gone.
 */
export class ServiceClient extends Client {
  private readonly answerTimeoutMs: number;
  private isCommitUncertain = false;

  constructor(config: ServiceClientConfig = {}) {
    super(config);
    this.answerTimeoutMs = config.answerTimeoutMs ?? 0;
    this.on('notice', ({ routine }) => {
      if (routine === WAIT_OF_A_COMMIT) this.isCommitUncertain = true;
    });
    const query = this.query.bind(this) as (...parameters: unknown[]) => unknown;
    // An override would have to repeat all signatures of pg.
    this.query = ((...parameters: unknown[]) => {
      const answer = query(...parameters);
      return answer instanceof Promise ? this.watch(answer) : answer;
    }) as Client['query'];
  }

  private async watch<Answer>(answer: Promise<Answer>): Promise<Answer> {
    const timer = this.answerTimeoutMs > 0 ? setTimeout(() => this.drop(), this.answerTimeoutMs) : undefined;
    try {
      const result = await answer;
      if (this.isCommitUncertain) throw new CommitNotReplicated();
      return result;
    } catch (error) {
      if (this.isCommitUncertain || (error as { code?: string }).code === READ_ONLY) this.drop();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whoever releases it afterwards gives it to nobody else. A statement under way loses its answer. */
  drop(): void {
    this.end().catch(() => undefined);
  }
}

/** A session of the server. A process id alone may come to another session. */
export interface Session {
  readonly pid: number;
  readonly startedAt: string;
}

/**
 * Asks a new connection for its session. The database is asked, because the process id that a pooler tells
 * its clients is not the session's.
 *
 * @throws DatabaseReadOnly when the server is a standby: what it shows may be old
 */
export async function greet(client: Client): Promise<Session | undefined> {
  const timer = setTimeout(() => void client.end().catch(() => undefined), GREETING_MS);
  try {
    const { rows } = await client.query<Session & { isStandby: boolean }>(
      `SELECT pid, backend_start::text AS "startedAt", pg_is_in_recovery() AS "isStandby"
         FROM pg_stat_activity WHERE pid = pg_backend_pid()`,
    );
    if (rows[0]?.isStandby) throw new DatabaseReadOnly();
    return rows[0];
  } finally {
    clearTimeout(timer);
  }
}
