export interface PaidAmount {
  readonly value: string;
  readonly currency: string;
}

/** Our data on a payment, by which it is recognised if everything else was lost. */
export interface PaymentMark {
  readonly depositId: number;
  /** The key of its creation. */
  readonly paymentKey: string;
  readonly userId: number;
  /** The name of the installation. */
  readonly environment: string;
  /** The customer's key, by which a restored database recognises a retry. */
  readonly idempotencyKey: string | null;
}

export interface NewPayment extends PaymentMark {
  /** Roubles, with two decimals. */
  readonly amount: string;
  readonly returnUrl: string;
  /** If it is null, the operator's address gets the receipt, if there is one. */
  readonly receiptEmail: string | null;
}

/** The state of a fiscal receipt; null if there is none. */
export type ReceiptState = 'pending' | 'succeeded' | 'canceled' | null;

/** `unknown`: a state that this version does not know. */
export type ProviderReceiptState = ReceiptState | 'unknown';

export interface ProviderPayment {
  readonly id: string;
  readonly state: 'pending' | 'succeeded' | 'canceled' | 'expired';
  /** The received amount, if the payment succeeded. */
  readonly amount: PaidAmount;
  /** Null if it has no data of ours. */
  readonly mark: PaymentMark | null;
  /** Why it was canceled. */
  readonly reason: string | null;
  readonly receipt: ProviderReceiptState;
  /** Null if it can no longer be paid. */
  readonly paymentUrl: string | null;
  readonly isTest: boolean;
  readonly createdAt: Date;
  readonly paidAt: Date | null;
}

export interface NewRefund {
  readonly refundId: number;
  readonly refundKey: string;
  readonly paymentId: string;
  /** Roubles, with two decimals. */
  readonly amount: string;
  /** Of the payment. */
  readonly paidAmount: string;
  /** The request that created the payment; null if it is not known. */
  readonly paymentRequest: string | null;
}

export interface ProviderRefund {
  readonly id: string;
  readonly paymentId: string;
  readonly state: 'pending' | 'succeeded' | 'canceled';
  /** Why it was canceled. */
  readonly reason: string | null;
  readonly receipt: ProviderReceiptState;
  readonly amount: PaidAmount;
  readonly createdAt: Date;
  /** Null if this service did not create it. */
  readonly refundKey: string | null;
}

/** A page of a list. Rows that could not be read were reported, and may be anybody's. */
export interface Listed<Row> {
  readonly rows: readonly Row[];
  readonly unreadable: number;
}

/** A call to the provider of payments failed. No message contains a URL, a key or an address. */
export abstract class PaymentError extends Error {}

/** The provider has certainly done nothing, and a retry would be refused again. */
export class PaymentRefused extends PaymentError {
  /** @param reason the provider's, for staff */
  constructor(
    method: string,
    readonly status: number,
    readonly reason: string,
  ) {
    super(`${method} returned ${status}: ${reason}`);
  }
}

/** The provider has certainly done nothing. A retry may succeed. */
export class PaymentsUnavailable extends PaymentError {}

/** The provider refuses the shop or its key. The operator can change that, and a retry may succeed. */
export class PaymentsForbidden extends PaymentsUnavailable {
  /** @param reason the provider's, for staff */
  constructor(
    method: string,
    status: number,
    readonly reason: string,
  ) {
    super(`${method} returned ${status}: ${reason}`);
  }
}

/** The provider may have executed the call. Only its listing shows the outcome. */
export class PaymentOutcomeUnknown extends PaymentError {}

/**
 * The port to a provider of payments. It is never called inside a transaction. Creations and refunds have a
 * key, and are executed once for it while the provider remembers it: for 24 hours.
 */
export abstract class PaymentProvider {
  /** Stored with all data of the provider. */
  abstract readonly name: string;
  /** Whether test payments count like others. */
  abstract readonly isForTests: boolean;

  /** The provider's time in its last response; null if it is not known, or older than a minute. */
  abstract time(): Date | null;

  /**
   * The text of a request that creates a payment. It is stored before the first call and sent again by each
   * retry: the provider refuses another request with the same key.
   */
  abstract paymentRequest(payment: NewPayment): string;

  /** @throws PaymentError */
  abstract create(paymentKey: string, request: string): Promise<ProviderPayment>;

  /** @returns null if the provider has no such payment. @throws PaymentError */
  abstract read(paymentId: string): Promise<ProviderPayment | null>;

  /** The payments created, or paid, since then, in pages, newest first. @throws PaymentError */
  abstract paymentsSince(
    moment: Date,
    by?: 'created_at' | 'captured_at',
  ): AsyncGenerator<Listed<ProviderPayment>>;

  /** The text of a request that refunds a payment, stored like that of its creation. */
  abstract refundRequest(refund: NewRefund): string;

  /** @throws PaymentError */
  abstract refund(refundKey: string, request: string): Promise<ProviderRefund>;

  /** The refunds created since then, in pages, newest first. @throws PaymentError */
  abstract refundsSince(moment: Date): AsyncGenerator<Listed<ProviderRefund>>;

  /** The refunds of a payment. @throws PaymentError */
  abstract refundsOf(paymentId: string): AsyncGenerator<Listed<ProviderRefund>>;
}
