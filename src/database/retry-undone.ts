import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';

/** SQLSTATEs with which the database undoes a whole transaction because of another one. */
const DEADLOCK = '40P01';
const SERIALIZATION_FAILURE = '40001';

const MOST_TRIES = 3;
/** Long enough that the other one is through. */
const LONGEST_PAUSE_MS = 100;

const logger = new Logger('Database');

/**
 * Retries what the database has undone because it deadlocked, or could not be ordered before another
 * transaction: nothing of it was committed, so it is as if it had not been sent.
 *
 * @param run a statement by itself, or a whole transaction, never a part of one
 */
export async function retryUndone<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await run();
    } catch (error) {
      if (tries === MOST_TRIES || !(error instanceof QueryFailedError)) throw error;
      const { code } = error.driverError as { code?: string };
      if (code !== DEADLOCK && code !== SERIALIZATION_FAILURE) throw error;
      logger.warn(`retrying what the database has undone: ${error.message}`);
      await pause(Math.random() * LONGEST_PAUSE_MS);
    }
  }
}
