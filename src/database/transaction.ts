import { type DataSource, type EntityManager, QueryFailedError } from 'typeorm';
import { messageOf } from '../common';
import { recordSession, resolveCommitOutcome } from './commit-outcome';
import { retryUndone } from './retry-undone';
import { isSessionLost, TransactionOutcomeUnknown } from './sql';

/** Part of pg's client, used directly because TypeORM does not return the response to COMMIT. */
interface Client {
  /** Whether no statement is running or queued. */
  readonly readyForQuery: boolean;
  query(statement: string): Promise<{ readonly command: string }>;
}

/** Members of TypeORM's query runner that are not part of its public API. */
interface Runner {
  isReleased: boolean;
  /** Closes the connection if an error is passed, and otherwise returns it to the pool. */
  releasePostgresConnection(error?: Error): Promise<void>;
}

/**
 * Runs statements in one transaction (read committed). Resolves only after the database has confirmed the
 * commit. If the work ignored an error, the database rolls back instead, and the promise rejects.
 * @param work runs again if the transaction deadlocks
 * @throws TransactionOutcomeUnknown, after terminating the session, so that later reads show the outcome
 */
export const inTransaction = <Result>(
  dataSource: DataSource,
  work: (manager: EntityManager) => Promise<Result>,
): Promise<Result> => retryUndone(() => runTransaction(dataSource, work));

async function runTransaction<Result>(
  dataSource: DataSource,
  work: (manager: EntityManager) => Promise<Result>,
): Promise<Result> {
  const runner = dataSource.createQueryRunner();
  const client = (await runner.connect()) as Client;
  try {
    await runner.startTransaction('READ COMMITTED');
    const result = await work(runner.manager);
    await commit(client);
    await runner.release();
    return result;
  } catch (error) {
    await rollBack(runner as unknown as Runner, client, error);
    if (error instanceof TransactionOutcomeUnknown) {
      recordSession(error, client);
      await resolveCommitOutcome(dataSource, error, () => Promise.resolve()).catch(() => undefined);
    }
    throw error;
  }
}

/** Keeps the connection if possible, because opening a new one takes 30 ms. */
async function rollBack(runner: Runner, client: Client, cause: unknown): Promise<void> {
  let isRolledBack = false;
  if (client.readyForQuery) {
    // If the work is still running, refuse its later statements, because each would be committed on its own.
    runner.isReleased = true;
    const response = await client.query('ROLLBACK').catch(() => null);
    runner.isReleased = false;
    isRolledBack = response?.command === 'ROLLBACK';
  }
  await runner.releasePostgresConnection(isRolledBack ? undefined : new Error(messageOf(cause)));
}

async function commit(client: Client): Promise<void> {
  const { command } = await client.query('COMMIT').catch((error: unknown) => {
    throw isSessionLost(error)
      ? new TransactionOutcomeUnknown(error)
      : new QueryFailedError('COMMIT', [], error as Error);
  });
  if (command !== 'COMMIT') {
    throw new Error('a transaction was rolled back: an error inside it was swallowed');
  }
}
