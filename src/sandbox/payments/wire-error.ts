/** Refuses a request, with the status of the response. */
export class WireError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    description: string,
    /** Refused part of the request. */
    readonly parameter?: string,
  ) {
    super(description);
  }
}
