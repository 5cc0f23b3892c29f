import { z } from 'zod';
import { jsonOrUndefined } from '../common';

/** Variable for tests only. The service warns at startup if it is set. */
export const TUNING_VARIABLE = 'TUNING_FOR_TESTS';

/** Tests replace these constants, because the usual values would take minutes or disturb the next test. */
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

/** Absent constants keep their usual values. */
export type Tuning = { readonly [Name in (typeof CONSTANTS)[number]]?: number | undefined };

const schema: z.ZodType<Tuning> = z.partialRecord(z.enum(CONSTANTS), z.int().nonnegative());

export function readTuning(text = '{}'): { tuning: Tuning; problems: readonly string[] } {
  const { data, error } = schema.safeParse(jsonOrUndefined(text));
  const problems = error?.issues.map(({ path, message }) =>
    [TUNING_VARIABLE, ...path, `is not usable: ${message}`].join(' '),
  );
  return { tuning: Object.freeze(data ?? {}), problems: problems ?? [] };
}
