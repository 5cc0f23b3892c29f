import { type DataSource, type EntityManager, QueryFailedError } from 'typeorm';
import { messageOf } from '../common';
import { isSessionLost, TransactionOutcomeUnknown } from './sql';

/** What is used here of pg's client: TypeORM does not hand on what a COMMIT was answered. */
interface Client {
  query(statement: string): Promise<{ readonly command: string }>;
}

/** What TypeORM's runner has beside its published types: a connection given back with an error is closed. */
interface Releasing {
  releasePostgresConnection(error?: Error): Promise<void>;
}

/**
 * Does several statements in one transaction (read committed), all through the manager that the work is given. Resolves only when the
 * database has said that it committed: after an error that the work swallowed, COMMIT is answered with ROLLBACK. On any error the
 * connection is closed, which ends the transaction, whatever state it was in.
 *
 * @throws TransactionOutcomeUnknown
 */
export async function inTransaction<Result>(
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
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    await (runner as unknown as Releasing).releasePostgresConnection(new Error(messageOf(error)));
    throw error;
  }
}

async function commit(client: Client): Promise<void> {
  const { command } = await client.query('COMMIT').catch((error: unknown) => {
    throw isSessionLost(error)
      ? new TransactionOutcomeUnknown(error)
      : // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        new QueryFailedError('COMMIT', [], error as Error);
  });
  if (command !== 'COMMIT') {
    throw new Error('a transaction was rolled back: an error inside it was swallowed');
  }
}
