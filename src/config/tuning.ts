import { z } from 'zod';

/** Not a setting of operators: the service warns at its start when it is set. */
export const TUNING_VARIABLE = 'TUNING_FOR_TESTS';

/**
 * The constants that tests replace: a few, because waiting for the usual value would take minutes, or a fault
 * would switch something off that the next test needs. The module that uses one declares its value, and why.
 */
const CONSTANTS = [
  'activeFlagsIntervalSeconds',
  'breakerFailures',
  'breakerProbeMs',
  'linkRequestsPerMinute',
  'ordersPerCall',
  'pingTimeoutMs',
  'poolWaitMs',
  'readerIdleMs',
  'reconcileIntervalMs',
  'signInMaxAgeSeconds',
  'signInTokenMinutes',
  'trialTimeoutMs',
  'webhookAttemptsAtOnce',
  'webhookAttemptsPerWebhook',
  'webhookRetrySeconds',
  'webhookTimeoutMs',
] as const;

/** What replaces constants in a test. Units stand in the names; what is absent keeps its usual value. */
export type Tuning = { readonly [Name in (typeof CONSTANTS)[number]]?: number | undefined };

const schema: z.ZodType<Tuning> = z.partialRecord(z.enum(CONSTANTS), z.int().nonnegative());

/** Reads {@link TUNING_VARIABLE}. Problems name what is wrong, without the values. */
export function readTuning(text = '{}'): { tuning: Tuning; problems: readonly string[] } {
  const { data, error } = schema.safeParse(parseJson(text));
  const problems = error?.issues.map(({ path, message }) =>
    [TUNING_VARIABLE, ...path, `is not usable: ${message}`].join(' '),
  );
  return { tuning: Object.freeze(data ?? {}), problems: problems ?? [] };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
