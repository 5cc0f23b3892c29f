/** A refusal of a request, with the status of the response. */
export class WireError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    description: string,
    /** The part of the request that is refused. */
    readonly parameter?: string,
  ) {
    super(description);
  }
}
