import { type Tuning, TUNING_VARIABLE } from '../../src/config';

export const tuned = (tuning: Tuning): Record<string, string> => ({
  [TUNING_VARIABLE]: JSON.stringify(tuning),
});
