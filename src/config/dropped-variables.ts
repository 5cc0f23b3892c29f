import { HISTORY_BEFORE } from './settings';
import { TUNING_VARIABLE } from './tuning';

const HISTORY = 'HISTORY_DAYS takes its place; while that is not set, the longest of those before it counts';

/** The replacement of each variable that earlier versions read. */
const DROPPED: Readonly<Record<string, string>> = {
  ACTIVE_FLAGS_INTERVAL_SECONDS: 'the flags of proxies that have expired are updated each minute',
  AUDIT_ALL_ON: 'the whole books are audited on Sundays',
  BREAKER_FAILURES: 'a circuit breaker opens after 5 failures in a row',
  BREAKER_PROBE_MS: 'an open circuit breaker lets a call through after 5 s',
  CHECK_HISTORY_DAYS: 'results of checks are kept for 30 days',
  CHECK_TIMEOUT_MS: 'the check of a proxy may take 7 s',
  DB_POOL_WAIT_MS: 'a request waits 5 s for a connection to the database',
  ENDED_LINK_DAYS: 'secret links that have ended are kept for 30 days',
  LINK_REQUESTS_PER_MINUTE: 'a secret link may be fetched 1200 times in a minute',
  ORDERS_PER_CALL: 'one call carries 100 orders of the same kind at most',
  PING_TIMEOUT_MS: 'the ping of a proxy may take 3 s',
  READER_IDLE_MS: 'a client that takes nothing of a response is disconnected after 10 s',
  RECONCILE_INTERVAL_MS: 'orders whose check is due are searched for each second',
  SANDBOX_PROFILE:
    'the sandbox is quick; POST /latency and POST /faults of its control interface change that',
  SWEEP_MISSING_PERCENT: 'staff decide when more than 5 % of the rented proxies are missing',
  TELEGRAM_MAX_AGE_SECONDS: 'a Mini App that was opened an hour ago can no longer sign in',
  TELEGRAM_TOKEN_MINUTES: 'the token of a sign-in works for an hour',
  WEBHOOK_ATTEMPTS_AT_ONCE: 'a replica makes 64 attempts to send webhooks at once',
  WEBHOOK_ATTEMPTS_PER_WEBHOOK: 'one webhook is sent 8 events at once',
  WEBHOOK_RETRY_SECONDS: 'an event is sent again for three days',
  WEBHOOK_TIMEOUT_MS: 'one attempt to send a webhook may take 15 s',
  ...Object.fromEntries(HISTORY_BEFORE.map((variable) => [variable, HISTORY])),
};

/** Warnings at the start of the service: one line for each variable, without its value. */
export function environmentWarnings(
  variables: Readonly<Record<string, string | undefined>> = process.env,
): readonly string[] {
  const isSet = (variable: string): boolean => Boolean(variables[variable]?.trim());
  const dropped = Object.entries(DROPPED).filter(([variable]) => isSet(variable));
  return [
    ...dropped.map(([variable, instead]) => `${variable} is no longer read: ${instead}`),
    ...(isSet(TUNING_VARIABLE) ? [`${TUNING_VARIABLE} replaces constants, which only tests should do`] : []),
  ];
}
