const MINUTE = 60;
const HOUR = 3600;
const DAY_SECONDS = 24 * HOUR;

/** For how long an event is sent again: a receiver that failed on Friday evening has the weekend. */
export const USUAL_RETRY_SECONDS = 3 * DAY_SECONDS;

/**
 * The pauses between two attempts to send an event, in seconds: together a little more than three days, so
 * that a webhook whose only event is never taken has failed for three days with the last attempt.
 */
export const PAUSES_SECONDS: readonly number[] = [
  5,
  MINUTE,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** Pauses are longer by up to this part, so that what failed together does not come again together. */
const JITTER = 0.1;

/** `Retry-After` is followed up to here. */
const LONGEST_ASKED_PAUSE_SECONDS = HOUR;

/** After so many failures in a row, a webhook is tried with one event at a time, and with pauses. */
export const FAILURES_UNTIL_PAUSED = 3;

/** How long nothing is sent to a webhook after so many failures in a row, the first one first. */
const PAUSES_OF_WEBHOOK_SECONDS: readonly number[] = [0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 5 * MINUTE];

/** One attempt as a whole, looking up the name and connecting included. */
export const ATTEMPT_TAKES_MS = 15_000;
/** How late an attempt may begin after its claim was sent; it is left to another replica then. */
export const CLAIM_TAKES_MS = 3000;
/** For how long the outcome of an attempt is tried to be written. */
export const SETTLING_TAKES_MS = 10_000;
const MARGIN_MS = 2000;

/** How long a claim holds: longer than anything that is done under it. */
export const leaseMs = (timeoutMs: number): number =>
  CLAIM_TAKES_MS + timeoutMs + SETTLING_TAKES_MS + MARGIN_MS;

/**
 * How long an event waits for its next attempt, in seconds; null: it has failed for good.
 *
 * @param attempts that have failed, 1 or more
 * @param retrySeconds for how long it is sent again as a whole
 * @param asked see {@link askedPause}
 */
export function pauseOfDelivery(
  attempts: number,
  retrySeconds: number,
  asked: number,
  random: () => number = Math.random,
): number | null {
  const usual = PAUSES_SECONDS[attempts - 1];
  if (usual === undefined) return null;
  const scaled = usual * (retrySeconds / USUAL_RETRY_SECONDS) * (1 + JITTER * random());
  return Math.max(scaled, asked);
}

/** For how long nothing is sent after so many failures in a row, in seconds; the last is for more. */
export const pausesOfWebhook = (retrySeconds: number): readonly number[] =>
  PAUSES_OF_WEBHOOK_SECONDS.map((pause) => pause * Math.min(1, retrySeconds / USUAL_RETRY_SECONDS));

/**
 * What a receiver asked for in `Retry-After`, within bounds, in seconds. It never outlasts the time for which
 * an event is sent.
 */
export const askedPause = (askedSeconds: number | null, retrySeconds: number): number =>
  Math.min(askedSeconds ?? 0, LONGEST_ASKED_PAUSE_SECONDS, retrySeconds);
