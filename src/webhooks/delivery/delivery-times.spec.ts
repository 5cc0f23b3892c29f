import {
  CLAIM_TAKES_MS,
  leaseMs,
  pauseOfDelivery,
  PAUSES_SECONDS,
  pausesOfWebhook,
  requestedPause,
  SETTLING_TAKES_MS,
  USUAL_RETRY_SECONDS,
} from './delivery-times';

const LEAST = () => 0;
const MOST = () => 1;

describe('The lease of a delivery', () => {
  it.each([100, 15_000, 60_000])(
    'outlasts the longest attempt of %d ms and all that is done with it',
    (timeoutMs) => {
      expect(leaseMs(timeoutMs)).toBeGreaterThan(CLAIM_TAKES_MS + timeoutMs + SETTLING_TAKES_MS);
    },
  );
});

describe('The pauses of an event', () => {
  const pauses = (retrySeconds: number, random: () => number) =>
    PAUSES_SECONDS.map((_pause, at) => pauseOfDelivery(at + 1, retrySeconds, 0, random) ?? NaN);

  it('grow, and are together a little more than the time for which it is sent', () => {
    for (const retrySeconds of [USUAL_RETRY_SECONDS, 60, 2_592_000]) {
      for (const random of [LEAST, MOST]) {
        const all = pauses(retrySeconds, random);
        expect(all).toEqual(all.toSorted((a, b) => a - b));
        const days = all.reduce((sum, pause) => sum + pause, 0) / retrySeconds;
        expect(days).toBeGreaterThan(1);
        expect(days).toBeLessThan(1.2);
      }
    }
  });

  it('end with the last attempt', () => {
    expect(pauseOfDelivery(PAUSES_SECONDS.length, USUAL_RETRY_SECONDS, 0)).not.toBeNull();
    expect(pauseOfDelivery(PAUSES_SECONDS.length + 1, USUAL_RETRY_SECONDS, 0)).toBeNull();
  });

  it.each([
    [null, 0],
    [120, 120],
    [999_999, 3600],
  ])('follow a Retry-After of %s s within bounds: %d s', (requestedSeconds, expected) => {
    expect(requestedPause(requestedSeconds, USUAL_RETRY_SECONDS)).toBe(expected);
    expect(pauseOfDelivery(1, USUAL_RETRY_SECONDS, expected, LEAST)).toBe(Math.max(5, expected));
  });
});

describe('The pauses of a webhook', () => {
  it('begin after some failures, and grow to five minutes', () => {
    const pauses = pausesOfWebhook(USUAL_RETRY_SECONDS);
    expect(pauses.slice(0, 4)).toEqual([0, 0, 1, 2]);
    expect([pauses.at(-1), pauses]).toEqual([300, pauses.toSorted((a, b) => a - b)]);
  });
});
