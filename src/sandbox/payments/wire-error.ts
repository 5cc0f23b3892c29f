/** Refuses a request with this HTTP status. */
export class PaymentWireError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    description: string,
    /** Refused parameter of the request. */
    readonly parameter?: string,
  ) {
    super(description);
  }
}
