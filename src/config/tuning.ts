import { z } from 'zod';
import { jsonOrUndefined } from '../common';

/** Not a setting for operators: the service warns at its start if it is set. */
export const TUNING_VARIABLE = 'TUNING_FOR_TESTS';

/**
 * The constants that tests replace: only a few, for which the usual value would take minutes, or would
 * disable something that the next test needs. The module that uses one declares its value, and why.
 */
const CONSTANTS = [
  'activeFlagsIntervalSeconds',
  'bodyStallMs',
  'breakerFailures',
  'breakerProbeMs',
  'linkRequestsPerMinute',
  'ordersPerCall',
  'paymentTimeoutMs',
  'pingTimeoutMs',
  'poolWaitMs',
  'px6CallsPerSecond',
  'readerIdleMs',
  'reconcileIntervalMs',
  'signInMaxAgeSeconds',
  'signInTokenMinutes',
  'proxyCheckTimeoutMs',
  'webhookAttemptsAtOnce',
  'webhookAttemptsPerWebhook',
  'webhookRetrySeconds',
  'webhookTimeoutMs',
] as const;

/** Replacements of constants in a test. Names contain units; absent constants keep their usual values. */
export type Tuning = { readonly [Name in (typeof CONSTANTS)[number]]?: number | undefined };

const schema: z.ZodType<Tuning> = z.partialRecord(z.enum(CONSTANTS), z.int().nonnegative());

/** Reads {@link TUNING_VARIABLE}. Problems do not contain values. */
export function readTuning(text = '{}'): { tuning: Tuning; problems: readonly string[] } {
  const { data, error } = schema.safeParse(jsonOrUndefined(text));
  const problems = error?.issues.map(({ path, message }) =>
    [TUNING_VARIABLE, ...path, `is not usable: ${message}`].join(' '),
  );
  return { tuning: Object.freeze(data ?? {}), problems: problems ?? [] };
}
