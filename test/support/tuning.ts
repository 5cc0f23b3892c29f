import { type Tuning, TUNING_VARIABLE } from '../../src/config';

/** The variable that replaces constants of the application, for tests that cannot wait for the usual ones. */
export const tuned = (tuning: Tuning): Record<string, string> => ({
  [TUNING_VARIABLE]: JSON.stringify(tuning),
});
