import type { DataSource, EntityManager } from 'typeorm';
import { ConcurrencyLimit } from '../common';
import { type Queryable, queryRows } from './sql';
import { inTransaction } from './transaction';

const queue = new ConcurrencyLimit<number>(Infinity, 1);

/** Runs a change after the same user's earlier changes have ended. Waiting changes hold no connection. */
export const inQueueOf = <Result>(userId: number, change: () => Promise<Result>): Promise<Result> =>
  queue.run(userId, change);

/** Serializes a user's changes across replicas. Must be called before taking other locks. */
export async function lockUser(manager: Queryable, userId: number): Promise<void> {
  await queryRows(manager, 'SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [userId]);
}

/** @throws TransactionOutcomeUnknown */
export const changeOfUser = <Result>(
  dataSource: DataSource,
  userId: number,
  change: (manager: EntityManager) => Promise<Result>,
): Promise<Result> =>
  inQueueOf(userId, () =>
    inTransaction(dataSource, async (manager) => {
      await lockUser(manager, userId);
      return change(manager);
    }),
  );
