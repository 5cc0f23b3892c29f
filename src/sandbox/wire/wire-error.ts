/** Error numbers and messages from PROXY6's documentation. */
export const WIRE_ERRORS = {
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
  270: 'Error port',
  280: 'Error proxy str',
  300: 'Error active proxy allow',
  400: 'Error no money',
  404: 'Error not found',
  410: 'Error price',
} as const;

export type WireErrorId = keyof typeof WIRE_ERRORS;

/** Sent as PROXY6 sends errors: HTTP 200 with `"status":"no"`. */
export class WireError extends Error {
  constructor(readonly id: WireErrorId) {
    super(WIRE_ERRORS[id]);
    this.name = 'WireError';
  }
}
