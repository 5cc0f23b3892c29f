import { setTimeout as pause } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import type { DataSource } from 'typeorm';
import { messageOf } from '../common';
import { queryRows } from './sql';

/** The process of the database that serves one connection. A process id alone may come to another session. */
interface Session {
  readonly pid: number;
  readonly startedAt: string;
}

/** How long it may take to find out what became of a statement. */
const PATIENCE_MS = 10_000;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

const sessionsByClient = new WeakMap<object, Session>();
const sessionsByError = new WeakMap<Error, Session>();

/** It could not be established whether a statement was committed, or will be. */
export class StatementOutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super(`what became of a statement is not known: ${messageOf(cause)}`, { cause });
    this.name = StatementOutcomeUnknown.name;
  }
}

/**
 * Asks for the session of a new connection. The database is asked, because the process id that a pooler tells
 * its clients is not the session's.
 */
export async function identifySession(client: ClientBase): Promise<void> {
  const { rows } = await client.query<Session>(
    `SELECT pid, backend_start::text AS "startedAt" FROM pg_stat_activity WHERE pid = pg_backend_pid()`,
  );
  if (rows[0]) sessionsByClient.set(client, rows[0]);
}

/** Keeps for {@link lookUpLost} on which connection a statement failed. */
export function noteSession(error: Error, client: object): void {
  const session = sessionsByClient.get(client);
  if (session) sessionsByError.set(error, session);
}

/**
 * Looks up what became of a statement whose answer was lost. The session of the statement is ended first: it
 * does not notice that its connection is gone while it waits for a lock, and would commit the statement after
 * any look-up. Once the session is gone, what is not found will never be there.
 *
 * @param error of the statement, from `preparedRows` on a data source
 * @param lookUp is repeated when it fails
 * @throws StatementOutcomeUnknown when the database could not tell within ten seconds
 */
export async function lookUpLost<Found>(
  dataSource: DataSource,
  error: unknown,
  lookUp: () => Promise<Found>,
): Promise<Found> {
  const giveUpAtMs = performance.now() + PATIENCE_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    let failure: unknown = 'its session does not end';
    try {
      if (await isSessionOver(dataSource, error)) return await lookUp();
    } catch (trouble) {
      failure = trouble;
    }
    if (performance.now() + pauseMs > giveUpAtMs) throw new StatementOutcomeUnknown(failure);
    await pause(pauseMs);
  }
}

/** Asks the session to end. A role may always end its own sessions. */
async function isSessionOver(dataSource: DataSource, error: unknown): Promise<boolean> {
  const session = error instanceof Error ? sessionsByError.get(error) : undefined;
  if (!session) throw new Error('the session of the statement is not known');
  const ended = await queryRows(
    dataSource,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE pid = $1 AND backend_start = $2::timestamptz`,
    [session.pid, session.startedAt],
  );
  return ended.length === 0;
}
