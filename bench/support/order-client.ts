import { setTimeout as pause } from 'node:timers/promises';

const DEFAULT_RETRY_AFTER_S = 1;

export interface Customer {
  readonly id: number;
  readonly token: string;
}

export interface Order {
  readonly customer: Customer;
  readonly path: string;
  readonly body: object;
}

/** One request and its response. Times are those of {@link nowMs}. */
export interface Attempt {
  /** 0 when the connection was lost. */
  readonly status: number;
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
  /** When the order was sent for the first time. */
  readonly firstSentAtMs: number;
  readonly body: unknown;
}

/** Milliseconds since 1970 with fractions, comparable across processes, as in the sandbox's call log. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

export async function pauseUntil(timeMs: number): Promise<void> {
  await pause(Math.max(timeMs - nowMs(), 0));
}

let lastKey = 0;

/**
 * Sends an order with an Idempotency-Key and repeats it after each 503, when `Retry-After` has passed, until
 * `untilMs`. Gives the last attempt.
 *
 * @param onAttempt receives every attempt
 */
export async function sendOrder(
  chooseBaseUrl: () => string,
  order: Order,
  {
    untilMs = Number.POSITIVE_INFINITY,
    onAttempt,
  }: { untilMs?: number; onAttempt?: (attempt: Attempt) => void } = {},
): Promise<Attempt> {
  lastKey += 1;
  const key = `bench-${lastKey}`;
  const firstSentAtMs = nowMs();
  for (;;) {
    const { retryAfterMs, ...attempt } = await send(chooseBaseUrl(), order, key, firstSentAtMs);
    onAttempt?.(attempt);
    if (attempt.status !== 503 || nowMs() + retryAfterMs >= untilMs) return attempt;
    await pause(retryAfterMs);
  }
}

async function send(
  baseUrl: string,
  { customer, path, body }: Order,
  key: string,
  firstSentAtMs: number,
): Promise<Attempt & { readonly retryAfterMs: number }> {
  const sentAtMs = nowMs();
  try {
    const response = await fetch(baseUrl + path, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${customer.token}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': key,
      },
      body: JSON.stringify(body),
    });
    const answer: unknown = await response.json();
    const retryAfterS = Number(response.headers.get('Retry-After') ?? DEFAULT_RETRY_AFTER_S);
    return {
      status: response.status,
      sentAtMs,
      answeredAtMs: nowMs(),
      firstSentAtMs,
      body: answer,
      retryAfterMs: retryAfterS * 1000,
    };
  } catch {
    const answeredAtMs = nowMs();
    return { status: 0, sentAtMs, answeredAtMs, firstSentAtMs, body: null, retryAfterMs: 0 };
  }
}

/**
 * Each client sends one order after the other until `untilMs`; pending orders are awaited.
 *
 * @param clients functions that give the client's next order
 */
export async function runClosedLoop(
  chooseBaseUrl: () => string,
  clients: readonly (() => Order)[],
  untilMs: number,
): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  const onAttempt = (attempt: Attempt): void => void attempts.push(attempt);
  await Promise.all(
    clients.map(async (nextOrder) => {
      while (nowMs() < untilMs) await sendOrder(chooseBaseUrl, nextOrder(), { untilMs, onAttempt });
    }),
  );
  return attempts;
}
