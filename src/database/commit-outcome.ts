import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { isOverWithin, messageOf } from '../common';
import { prepareSession, type Session, type SessionSettings } from './service-client';
import { queryRows } from './sql';
import { waitForStandby } from './standby';

const PATIENCE_MS = 10_000;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 500;

const sessionsByClient = new WeakMap<object, Session>();
const sessionsByError = new WeakMap<Error, Session>();

export class StatementOutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super(`the statement's outcome is unknown: ${messageOf(cause)}`, { cause });
    this.name = StatementOutcomeUnknown.name;
  }
}

/** Records a new connection's server session. @throws Error if the connection must not be used */
export async function identifySession(client: Client, settings: SessionSettings): Promise<void> {
  const session = await prepareSession(client, settings);
  if (session) sessionsByClient.set(client, session);
}

export function recordSession(error: Error, client: object): void {
  const session = sessionsByClient.get(client);
  if (session) sessionsByError.set(error, session);
}

/**
 * Looks up the outcome of a statement whose response was lost. Terminates the statement's session first, so
 * that the statement cannot commit after the lookup. Then waits for the standby, because a failover could
 * undo a commit that is visible but not replicated.
 * @param error the statement's error, from `preparedRows` on a data source
 * @throws StatementOutcomeUnknown if the outcome was not found within ten seconds
 */
export async function resolveCommitOutcome<Found>(
  dataSource: DataSource,
  error: unknown,
  lookUp: () => Promise<Found>,
): Promise<Found> {
  const giveUpAtMs = performance.now() + PATIENCE_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    let failure: unknown = 'its session has not ended';
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

async function inTime<Result>(giveUpAtMs: number, work: () => Promise<Result>): Promise<Result> {
  const result = work();
  const isInTime = await isOverWithin(Math.max(giveUpAtMs - performance.now(), 0), result);
  if (!isInTime) throw new Error('the database does not respond');
  return result;
}

/** Terminates the session of a failed statement. Returns whether the session had already ended. */
async function isSessionOver(dataSource: DataSource, error: unknown): Promise<boolean> {
  const session = error instanceof Error ? sessionsByError.get(error) : undefined;
  if (!session) throw new Error("the statement's session is not known");
  const ended = await queryRows(
    dataSource,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE pid = $1 AND backend_start = $2::timestamptz`,
    [session.pid, session.startedAt],
  );
  return ended.length === 0;
}
