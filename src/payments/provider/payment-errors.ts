/** A call to the provider of payments that gave no result. No message has a URL, a key or an answer in it. */
export abstract class PaymentError extends Error {}

/** The provider has certainly done nothing, and will do nothing if it is asked the same again. */
export class PaymentRefused extends PaymentError {}

/** The provider has certainly done nothing. It may do it later. */
export class PaymentsUnavailable extends PaymentError {}

/** The provider may have done it. Only what it shows tells. */
export class PaymentOutcomeUnknown extends PaymentError {}
