import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';

/** SQLSTATEs with which the database rolls back a whole transaction because of another one. */
const DEADLOCK = '40P01';
const SERIALIZATION_FAILURE = '40001';

const MOST_TRIES = 3;
/** Long enough for the other one to finish. */
const LONGEST_PAUSE_MS = 100;

const logger = new Logger('Database');

/**
 * Retries work that the database rolled back because of a deadlock or a serialization failure: nothing of it
 * was committed, so it is as if it had not been sent.
 *
 * @param run a single statement or a whole transaction, never a part of one
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
