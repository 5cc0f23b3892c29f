export interface PaidAmount {
  readonly value: string;
  readonly currency: string;
}

/** Metadata that we attach to a payment. It identifies the payment even if all other data is lost. */
export interface PaymentMark {
  readonly depositId: number;
  /** Key under which the payment is created. */
  readonly paymentKey: string;
  readonly userId: number;
  /** Name of the installation. */
  readonly environment: string;
  /** Customer's idempotency key, by which a retry is recognised after a database restore. */
  readonly idempotencyKey: string | null;
}

export interface NewPayment extends PaymentMark {
  /** Amount in roubles, with two decimals. */
  readonly amount: string;
  readonly returnUrl: string;
  /** Email address for the receipt; `null` to use the operator's, if any. */
  readonly receiptEmail: string | null;
}

/** State of a fiscal receipt; null if there is none. */
export type ReceiptState = 'pending' | 'succeeded' | 'canceled' | null;

/** State of a receipt as read from the provider; `unknown` if this version does not know it. */
export type ProviderReceiptState = ReceiptState | 'unknown';

export interface ProviderPayment {
  readonly id: string;
  readonly state: 'pending' | 'succeeded' | 'canceled' | 'expired';
  /** Received amount of a succeeded payment. */
  readonly amount: PaidAmount;
  /** Metadata that we attached; null if the payment has none. */
  readonly mark: PaymentMark | null;
  /** Reason for the cancellation. */
  readonly reason: string | null;
  readonly receipt: ProviderReceiptState;
  /** URL of the payment page; null if the payment can no longer be paid. */
  readonly paymentUrl: string | null;
  readonly isTest: boolean;
  readonly createdAt: Date;
  readonly paidAt: Date | null;
}

export interface NewRefund {
  readonly refundId: number;
  readonly refundKey: string;
  readonly paymentId: string;
  /** Amount in roubles, with two decimals. */
  readonly amount: string;
  /** Amount of the whole payment, in roubles. */
  readonly paidAmount: string;
  /** Body of the request that created the payment; null if unknown. */
  readonly paymentRequest: string | null;
}

export interface ProviderRefund {
  readonly id: string;
  readonly paymentId: string;
  readonly state: 'pending' | 'succeeded' | 'canceled';
  /** Reason for the cancellation. */
  readonly reason: string | null;
  readonly receipt: ProviderReceiptState;
  readonly amount: PaidAmount;
  readonly createdAt: Date;
  /** Key under which this service created the refund; null for refunds made elsewhere. */
  readonly refundKey: string | null;
}

/** Page of a list. Unreadable rows have been reported; they may belong to any customer. */
export interface ProviderPage<Row> {
  readonly rows: readonly Row[];
  readonly unreadable: number;
}

/** Failed call to the payment provider. Messages never contain a URL, a key or an address. */
export abstract class PaymentError extends Error {}

/** The provider did nothing, and would refuse a retry. */
export class PaymentRefused extends PaymentError {
  /** @param reason the provider's reason, shown to staff */
  constructor(
    method: string,
    readonly status: number,
    readonly reason: string,
  ) {
    super(`${method} returned ${status}: ${reason}`);
  }
}

/** The provider did nothing. A retry may succeed. */
export class PaymentsUnavailable extends PaymentError {}

/** The provider refused the shop or its key. A retry may succeed after the operator has corrected them. */
export class PaymentsForbidden extends PaymentsUnavailable {
  /** @param reason the provider's reason, shown to staff */
  constructor(
    method: string,
    status: number,
    readonly reason: string,
  ) {
    super(`${method} returned ${status}: ${reason}`);
  }
}

/** The provider may have executed the call. Only its list shows the outcome. */
export class PaymentOutcomeUnknown extends PaymentError {}

/** How long the provider remembers a key, and thus how long a call may be resent. */
export const KEY_MEMORY_SQL = "interval '24 hours'";
export const RETRY_WITHIN_SQL = "interval '23 hours'";

/**
 * Port to a payment provider, never called inside a transaction. Calls that create a payment or a refund have
 * a key. While the provider remembers a key, it executes the call only once.
 */
export abstract class PaymentProvider {
  /** Name stored with all data from the provider. */
  abstract readonly name: string;
  /** Whether test payments are credited like real ones. */
  abstract readonly isForTests: boolean;

  /** Returns the time in the provider's last response; null if unknown or older than a minute. */
  abstract time(): Date | null;

  /**
   * Returns the body of a request that creates a payment. The body is stored before the first call and resent
   * by each retry, because the provider refuses a different request with the same key.
   */
  abstract paymentRequest(payment: NewPayment): string;

  /** @throws PaymentError */
  abstract create(paymentKey: string, request: string): Promise<ProviderPayment>;

  /** Returns the payment's id from a notification, which anybody may have sent; null if it contains none. */
  abstract notifiedPayment(body: unknown): string | null;

  /** @returns null if the provider has no such payment. @throws PaymentError */
  abstract read(paymentId: string): Promise<ProviderPayment | null>;

  /** Returns the payments created, or paid, since a moment, in pages, newest first. @throws PaymentError */
  abstract paymentsSince(
    moment: Date,
    by?: 'created_at' | 'captured_at',
  ): AsyncGenerator<ProviderPage<ProviderPayment>>;

  /** Returns the body of a refund request. Like a creation's body, it is stored and resent by each retry. */
  abstract refundRequest(refund: NewRefund): string;

  /** @throws PaymentError */
  abstract refund(refundKey: string, request: string): Promise<ProviderRefund>;

  /** Returns the refunds created since a moment, in pages, newest first. @throws PaymentError */
  abstract refundsSince(moment: Date): AsyncGenerator<ProviderPage<ProviderRefund>>;

  /** Returns a payment's refunds, in pages. @throws PaymentError */
  abstract refundsOf(paymentId: string): AsyncGenerator<ProviderPage<ProviderRefund>>;
}
