import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';

/** SQLSTATEs of errors that roll back a whole transaction because of a concurrent one. */
const DEADLOCK = '40P01';
const SERIALIZATION_FAILURE = '40001';

const FEATURE_NOT_SUPPORTED = '0A000';

const MOST_TRIES = 3;
/** Maximum pause before a retry, long enough for the concurrent transaction to finish. */
const LONGEST_PAUSE_MS = 100;

const logger = new Logger('Database');

/**
 * Whether a prepared statement failed because a column's type has changed. `routine` identifies the error,
 * because its message may be translated.
 */
export function isPlanOutdated(error: unknown): boolean {
  const { code, routine } = error as { code?: string; routine?: string };
  return code === FEATURE_NOT_SUPPORTED && routine === 'RevalidateCachedQuery';
}

/**
 * Retries work that was rolled back because of a deadlock, a serialization failure or an outdated plan.
 * @param run a single statement or a whole transaction, never a part of a transaction
 */
export async function retryUndone<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await run();
    } catch (error) {
      if (tries === MOST_TRIES || !(error instanceof QueryFailedError)) throw error;
      const { code } = error.driverError as { code?: string };
      const isUndone = code === DEADLOCK || code === SERIALIZATION_FAILURE;
      if (!isUndone && !isPlanOutdated(error.driverError)) throw error;
      logger.warn(`retrying work that the database rolled back: ${error.message}`);
      await pause(Math.random() * LONGEST_PAUSE_MS);
    }
  }
}
