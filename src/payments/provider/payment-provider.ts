/** An amount as the provider writes it. */
export interface PaidAmount {
  readonly value: string;
  readonly currency: string;
}

/** What a payment carries of ours, so that it is recognised whatever was lost. */
export interface PaymentMark {
  readonly depositId: number;
  /** The key of its creation. */
  readonly paymentKey: string;
  readonly userId: number;
  /** Of the installation. */
  readonly environment: string;
  /** The customer's own, by which a restored database knows a repeated request. */
  readonly idempotencyKey: string | null;
}

export interface NewPayment extends PaymentMark {
  /** Roubles, with two decimals. */
  readonly amount: string;
  readonly returnUrl: string;
}

export interface ProviderPayment {
  readonly id: string;
  readonly state: 'pending' | 'succeeded' | 'canceled' | 'expired';
  /** What was received, once it has succeeded. */
  readonly amount: PaidAmount;
  /** Null: it carries nothing of ours. */
  readonly mark: PaymentMark | null;
  /** Null once nobody can pay it any more. */
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
}

export interface ProviderRefund {
  readonly id: string;
  readonly paymentId: string;
  readonly state: 'pending' | 'succeeded' | 'canceled';
  readonly amount: PaidAmount;
  /** Null: it was not made by this service. */
  readonly refundKey: string | null;
}

/**
 * The port to a provider of payments. Nothing is called inside a transaction. A creation and a refund have a
 * key, and are done once for it while the provider remembers it: {@link KEY_REMEMBERED_SECONDS}.
 */
export abstract class PaymentProvider {
  /** Stored with all that comes from it. */
  abstract readonly name: string;
  /** Whether payments of tests are as good as others. */
  abstract readonly isForTests: boolean;

  /** @throws PaymentError */
  abstract create(payment: NewPayment): Promise<ProviderPayment>;

  /** @returns null when the provider knows no such payment. @throws PaymentError */
  abstract read(paymentId: string): Promise<ProviderPayment | null>;

  /** The payments that were created since then, in pages, newest first. @throws PaymentError */
  abstract paymentsSince(moment: Date): AsyncGenerator<readonly ProviderPayment[]>;

  /** @throws PaymentError */
  abstract refund(refund: NewRefund): Promise<ProviderRefund>;

  /** The refunds that were created since then, in pages, newest first. @throws PaymentError */
  abstract refundsSince(moment: Date): AsyncGenerator<readonly ProviderRefund[]>;

  /** The refunds of a payment. @throws PaymentError */
  abstract refundsOf(paymentId: string): AsyncGenerator<readonly ProviderRefund[]>;
}

/** For how long the provider gives the same result for the same key. */
export const KEY_REMEMBERED_SECONDS = 24 * 3600;
