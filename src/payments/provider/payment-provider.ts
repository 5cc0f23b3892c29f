export interface PaidAmount {
  readonly value: string;
  readonly currency: string;
}

/** Metadata that we attach to a payment, so that it can be identified after a database restore. */
export interface PaymentMark {
  readonly depositId: number;
  /** Idempotency key of the payment's creation. */
  readonly paymentKey: string;
  readonly userId: number;
  /** Name of the installation. */
  readonly environment: string;
  /** Customer's key, used to recognise a retry after a database restore. */
  readonly idempotencyKey: string | null;
}

export interface NewPayment extends PaymentMark {
  /** In roubles, with two decimals. */
  readonly amount: string;
  readonly returnUrl: string;
  /** `null` to use the operator's address. */
  readonly receiptEmail: string | null;
}

export type ReceiptState = 'pending' | 'succeeded' | 'canceled' | null;

/** `unknown` means a state that this version does not know. */
export type ProviderReceiptState = ReceiptState | 'unknown';

export interface ProviderPayment {
  readonly id: string;
  readonly state: 'pending' | 'succeeded' | 'canceled' | 'expired';
  /** The amount received, if the payment succeeded. */
  readonly amount: PaidAmount;
  readonly mark: PaymentMark | null;
  /** Reason for the cancellation. */
  readonly reason: string | null;
  readonly receipt: ProviderReceiptState;
  /** Null if the payment can no longer be paid. */
  readonly paymentUrl: string | null;
  readonly isTest: boolean;
  readonly createdAt: Date;
  readonly paidAt: Date | null;
}

export interface NewRefund {
  readonly refundId: number;
  readonly refundKey: string;
  readonly paymentId: string;
  /** In roubles, with two decimals. */
  readonly amount: string;
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
  /** Null for refunds made outside this service. */
  readonly refundKey: string | null;
}

/** `unreadable` is the number of rows that could not be parsed. They may belong to any customer. */
export interface ProviderPage<Row> {
  readonly rows: readonly Row[];
  readonly unreadable: number;
}

/** The message must not contain a URL, a key or an address. */
export abstract class PaymentError extends Error {}

/** The provider did nothing, and would refuse a retry. */
export class PaymentRefused extends PaymentError {
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

/** The provider rejected the shop's credentials. A retry may succeed once the operator has corrected them. */
export class PaymentsForbidden extends PaymentsUnavailable {
  constructor(
    method: string,
    status: number,
    readonly reason: string,
  ) {
    super(`${method} returned ${status}: ${reason}`);
  }
}

/** The provider may have executed the call. Only the provider's list shows the outcome. */
export class PaymentOutcomeUnknown extends PaymentError {}

/** How long the provider remembers an idempotency key. */
export const KEY_MEMORY_SQL = "interval '24 hours'";
export const RETRY_WITHIN_SQL = "interval '23 hours'";

/** Port to a payment provider. Must not be called inside a transaction. */
export abstract class PaymentProvider {
  /** Name stored with all data from the provider. */
  abstract readonly name: string;
  /** Whether test payments are credited like real ones. */
  abstract readonly isForTests: boolean;

  /** Returns the time in the provider's last response; null if that response is over a minute old. */
  abstract time(): Date | null;

  /** Returns the request body. Retries must resend the same body; otherwise, the provider rejects the key. */
  abstract paymentRequest(payment: NewPayment): string;

  /** @throws PaymentError */
  abstract create(paymentKey: string, request: string): Promise<ProviderPayment>;

  /** Returns a notification's payment id, or null. Anybody may have sent the notification. */
  abstract notifiedPayment(body: unknown): string | null;

  /** @returns null if the provider has no such payment. @throws PaymentError */
  abstract read(paymentId: string): Promise<ProviderPayment | null>;

  /** Lists payments created or paid since a moment, newest first. @throws PaymentError */
  abstract paymentsSince(
    moment: Date,
    by?: 'created_at' | 'captured_at',
  ): AsyncGenerator<ProviderPage<ProviderPayment>>;

  /** Returns the request body. Retries must resend the same body. */
  abstract refundRequest(refund: NewRefund): string;

  /** @throws PaymentError */
  abstract refund(refundKey: string, request: string): Promise<ProviderRefund>;

  /** Lists refunds created since a moment, newest first. @throws PaymentError */
  abstract refundsSince(moment: Date): AsyncGenerator<ProviderPage<ProviderRefund>>;

  /** @throws PaymentError */
  abstract refundsOf(paymentId: string): AsyncGenerator<ProviderPage<ProviderRefund>>;
}
