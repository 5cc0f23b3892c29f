/** Refuses a request with this HTTP status. */
export class PaymentWireError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    description: string,
    /** Request parameter that was refused. */
    readonly parameter?: string,
  ) {
    super(description);
  }
}
