import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';

const DEADLOCK = '40P01';
const SERIALIZATION_FAILURE = '40001';

const FEATURE_NOT_SUPPORTED = '0A000';

const MOST_TRIES = 3;
const LONGEST_PAUSE_MS = 100;

const logger = new Logger('Database');

/** Whether the cached plan was outdated. Checks `routine`, because the message may be localized. */
export function isPlanOutdated(error: unknown): boolean {
  const { code, routine } = error as { code?: string; routine?: string };
  return code === FEATURE_NOT_SUPPORTED && routine === 'RevalidateCachedQuery';
}

/** @param run a single statement or a whole transaction, never a part of a transaction */
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
