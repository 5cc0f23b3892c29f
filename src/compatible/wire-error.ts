/** PROXY6's documented error numbers and messages. */
const WIRE_ERRORS = {
  30: 'Error unknown',
  100: 'Error key',
  105: 'Error ip',
  110: 'Error method',
  200: 'Error count',
  210: 'Error period',
  220: 'Error country',
  230: 'Error ids',
  240: 'Error version',
  250: 'Error descr',
  260: 'Error type',
  280: 'Error proxy str',
  300: 'Error active proxy allow',
  400: 'Error no money',
  404: 'Error not found',
  410: 'Error price',
} as const;

export type WireErrorId = keyof typeof WIRE_ERRORS;

/** Sent as HTTP 200 with `"status":"no"`, which guarantees that nothing was done. */
export class WireError extends Error {
  constructor(readonly id: WireErrorId) {
    super(WIRE_ERRORS[id]);
  }
}

/** Sent as HTTP 503. */
export class OutcomeNotKnown extends Error {}

/** PROXY6's error numbers by our error codes. Each number guarantees that nothing was done. */
export const WIRE_ERROR_OF: ReadonlyMap<string, WireErrorId> = new Map([
  ['not-authenticated', 100],
  ['invalid-token', 100],
  ['user-blocked', 100],
  ['address-not-allowed', 105],
  ['not-enough-permissions', 110],
  ['limited-token-cannot-move-rules', 110],
  ['checks-disabled', 110],
  ['type-changes-unavailable', 110],
  ['period-too-short', 210],
  ['unsupported-period', 210],
  ['country-not-available', 220],
  ['too-many-targets', 230],
  ['idempotency-key-invalid', 250],
  ['idempotency-key-reused', 250],
  ['request-written-off', 250],
  ['unsupported-proxy-type', 260],
  ['type-change-refused', 260],
  ['not-enough-proxies', 300],
  ['insufficient-balance', 400],
  ['daily-limit-exceeded', 400],
  ['proxy-not-found', 404],
  ['cannot-be-prolonged', 404],
  ['proxy-ended', 404],
  ['proxy-withdrawn', 404],
  ['proxy-refunded', 404],
  ['proxy-gone', 404],
]);
