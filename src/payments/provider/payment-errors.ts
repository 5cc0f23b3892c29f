/** A call to the provider of payments failed. No message contains a URL, a key or a response. */
export abstract class PaymentError extends Error {}

/** The provider has certainly done nothing, and a retry would be refused again. */
export class PaymentRefused extends PaymentError {}

/** The provider has certainly done nothing. A retry may succeed. */
export class PaymentsUnavailable extends PaymentError {}

/** The provider may have executed the call. Only its listing shows the outcome. */
export class PaymentOutcomeUnknown extends PaymentError {}
