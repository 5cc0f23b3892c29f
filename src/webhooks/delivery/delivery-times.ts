const MINUTE = 60;
const HOUR = 3600;
const DAY_SECONDS = 24 * HOUR;

/** Events are retried for longer than a weekend. */
export const USUAL_RETRY_SECONDS = 3 * DAY_SECONDS;

/** Their sum slightly exceeds `USUAL_RETRY_SECONDS`. */
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

/** Pauses are randomly lengthened by up to this fraction, to spread retries of simultaneous failures. */
const JITTER = 0.1;

/** Maximum pause that a receiver can request with `Retry-After`. */
const LONGEST_REQUESTED_PAUSE_SECONDS = HOUR;

/** After this many failures in a row, a webhook receives one event at a time, with pauses in between. */
export const FAILURES_UNTIL_PAUSED = 3;

/** A webhook's pauses after one failure, after two in a row, and so on. */
const PAUSES_OF_WEBHOOK_SECONDS: readonly number[] = [0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 5 * MINUTE];

/** Timeout of a whole attempt, including DNS and connecting. */
export const ATTEMPT_TAKES_MS = 15_000;
/** Maximum time from a claim to its attempt. After that, the attempt is skipped and left to any replica. */
export const CLAIM_TAKES_MS = 3000;
/** How long to keep retrying to record an attempt's result. */
export const SETTLING_TAKES_MS = 10_000;
const MARGIN_MS = 2000;

/** A lease must outlast all work under it. */
export const leaseMs = (timeoutMs: number): number =>
  CLAIM_TAKES_MS + timeoutMs + SETTLING_TAKES_MS + MARGIN_MS;

/** Returns the seconds until the next attempt; null after the last attempt. */
export function pauseOfDelivery(
  attempts: number,
  retrySeconds: number,
  requestedSeconds: number,
  random: () => number = Math.random,
): number | null {
  const usual = PAUSES_SECONDS[attempts - 1];
  if (usual === undefined) return null;
  const scaled = usual * (retrySeconds / USUAL_RETRY_SECONDS) * (1 + JITTER * random());
  return Math.max(scaled, requestedSeconds);
}

/** Returns pauses in seconds. The last one applies to all further failures. */
export const pausesOfWebhook = (retrySeconds: number): readonly number[] =>
  PAUSES_OF_WEBHOOK_SECONDS.map((pause) => pause * Math.min(1, retrySeconds / USUAL_RETRY_SECONDS));

export const requestedPause = (requestedSeconds: number | null, retrySeconds: number): number =>
  Math.min(requestedSeconds ?? 0, LONGEST_REQUESTED_PAUSE_SECONDS, retrySeconds);
