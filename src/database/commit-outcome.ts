import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { isOverWithin, messageOf } from '../common';
import { greet, type Session, type SessionSettings } from './service-client';
import { queryRows } from './sql';
import { waitForStandby } from './standby';

/** How long finding out the outcome of a statement may take. */
const PATIENCE_MS = 10_000;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

const sessionsByClient = new WeakMap<object, Session>();
const sessionsByError = new WeakMap<Error, Session>();

/** It could not be established whether a statement was committed, or will be. */
export class StatementOutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super(`the statement's outcome is unknown: ${messageOf(cause)}`, { cause });
    this.name = StatementOutcomeUnknown.name;
  }
}

/** Reads the session of a new connection. @throws Error if the connection must not be used */
export async function identifySession(client: Client, settings: SessionSettings): Promise<void> {
  const session = await greet(client, settings);
  if (session) sessionsByClient.set(client, session);
}

/** Records for {@link resolveCommitOutcome} on which connection a statement failed. */
export function recordSession(error: Error, client: object): void {
  const session = sessionsByClient.get(client);
  if (session) sessionsByError.set(error, session);
}

/**
 * Looks up the outcome of a statement whose response was lost. The session of the statement is ended first:
 * while it waits for a lock, it does not notice that its connection is gone, and could commit the statement
 * after the lookup. Once the session is gone, rows that are not found will never appear. If it waited for the
 * synchronous standby, its commit becomes visible, but a failover may undo it: found rows count only once the
 * standby has them.
 *
 * @param error of the statement, from `preparedRows` on a data source
 * @param lookUp is retried if it fails
 * @throws StatementOutcomeUnknown if the outcome was not found within ten seconds
 */
export async function resolveCommitOutcome<Found>(
  dataSource: DataSource,
  error: unknown,
  lookUp: () => Promise<Found>,
): Promise<Found> {
  const giveUpAtMs = performance.now() + PATIENCE_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    let failure: unknown = 'its session does not end';
    try {
      const outcome = await inTime(giveUpAtMs, async () => {
        if (!(await isSessionOver(dataSource, error))) return undefined;
        await waitForStandby(dataSource);
        return { found: await lookUp() };
      });
      if (outcome) return outcome.found;
    } catch (trouble) {
      failure = trouble;
    }
    if (performance.now() + pauseMs > giveUpAtMs) throw new StatementOutcomeUnknown(failure);
    await pause(pauseMs);
  }
}

/**
 * Bounds the wait: a database that hangs, or that waits for a standby, does not respond. The work continues,
 * and its result is ignored.
 */
async function inTime<Result>(giveUpAtMs: number, work: () => Promise<Result>): Promise<Result> {
  const result = work();
  const isInTime = await isOverWithin(Math.max(giveUpAtMs - performance.now(), 0), result);
  if (!isInTime) throw new Error('the database does not respond');
  return result;
}

/** Ends the session. A role may always end its own sessions. @returns whether it had ended before */
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
