import { randomUUID } from 'node:crypto';
import type { Receipt } from './receipts';
import { PaymentWireError } from './wire-error';

export interface Amount {
  readonly value: string;
  readonly currency: string;
}

export type ReceiptState = 'pending' | 'succeeded' | 'canceled';

export type PaymentStatus = 'pending' | 'succeeded' | 'canceled';

export interface SandboxPayment {
  readonly id: string;
  status: PaymentStatus;
  amount: Amount;
  readonly created_at: string;
  captured_at?: string;
  readonly description?: string;
  metadata: Record<string, string>;
  readonly return_url: string;
  readonly receipt?: Receipt;
  receipt_registration?: ReceiptState;
  refunded_amount: Amount;
  test: boolean;
  cancellation_details?: { readonly party: string; readonly reason: string };
}

export interface SandboxRefund {
  readonly id: string;
  readonly payment_id: string;
  status: 'pending' | 'succeeded' | 'canceled';
  readonly amount: Amount;
  readonly receipt?: Receipt;
  receipt_registration?: ReceiptState;
  readonly created_at: string;
  readonly metadata: Record<string, string>;
}

interface UsedKey {
  /** Id of the created payment or refund. */
  readonly id: string;
  readonly request: string;
  readonly usedAtMs: number;
}

const KEY_MEMORY_MS = 24 * 3600 * 1000;

const kopecks = (value: string): bigint => BigInt(value.replace('.', ''));
const roubles = (amount: bigint): string => `${amount / 100n}.${String(amount % 100n).padStart(2, '0')}`;

export class SandboxShop {
  readonly payments = new Map<string, SandboxPayment>();
  readonly refunds = new Map<string, SandboxRefund>();
  receiptState: ReceiptState = 'succeeded';
  readonly keys = new Map<string, UsedKey>();

  constructor(private readonly changed: () => void = () => undefined) {}

  create(
    key: string,
    wanted: Pick<SandboxPayment, 'amount' | 'description' | 'metadata' | 'return_url' | 'receipt'>,
  ): SandboxPayment {
    const known = this.known(this.payments, key, wanted);
    if (known) return known;
    if (!/^\d+\.\d\d$/.test(wanted.amount.value)) {
      throw new PaymentWireError(400, 'invalid_request', 'amount.value is not an amount');
    }
    const payment: SandboxPayment = {
      id: randomUUID(),
      status: 'pending',
      created_at: new Date().toISOString(),
      refunded_amount: { value: '0.00', currency: wanted.amount.currency },
      test: false,
      ...wanted,
      ...(wanted.receipt && { receipt_registration: 'pending' as const }),
    };
    this.payments.set(payment.id, payment);
    this.remember(key, payment.id, wanted);
    this.changed();
    return payment;
  }

  /** @returns whether the payment's state changed */
  pay(id: string): boolean {
    const payment = this.payment(id);
    if (payment.status !== 'pending') return false;
    payment.status = 'succeeded';
    payment.captured_at = new Date().toISOString();
    if (payment.receipt) payment.receipt_registration = this.receiptState;
    this.changed();
    return true;
  }

  cancel(id: string, reason = 'canceled_by_merchant'): boolean {
    const payment = this.payment(id);
    if (payment.status !== 'pending') return false;
    payment.status = 'canceled';
    payment.cancellation_details = { party: 'yoo_money', reason };
    this.changed();
    return true;
  }

  refund(
    key: string,
    wanted: Pick<SandboxRefund, 'payment_id' | 'amount' | 'metadata' | 'receipt'>,
  ): SandboxRefund {
    const known = this.known(this.refunds, key, wanted);
    if (known) return known;
    const payment = this.payment(wanted.payment_id);
    const after = kopecks(payment.refunded_amount.value) + kopecks(wanted.amount.value);
    if (payment.status !== 'succeeded' || after > kopecks(payment.amount.value)) {
      throw new PaymentWireError(400, 'invalid_request', 'The amount exceeds what can still be refunded');
    }
    const refund: SandboxRefund = {
      id: randomUUID(),
      created_at: new Date().toISOString(),
      status: 'succeeded',
      ...wanted,
      ...(payment.receipt && { receipt_registration: this.receiptState }),
    };
    this.refunds.set(refund.id, refund);
    this.remember(key, refund.id, wanted);
    payment.refunded_amount = { value: roubles(after), currency: payment.amount.currency };
    this.changed();
    return refund;
  }

  payment(id: string): SandboxPayment {
    const payment = this.payments.get(id);
    if (!payment) throw new PaymentWireError(404, 'not_found', 'There is no such payment');
    return payment;
  }

  /** Returns the result of an earlier request with this key, if any. A repeated request must be identical. */
  private known<Item>(results: ReadonlyMap<string, Item>, key: string, wanted: object): Item | undefined {
    const used = this.keys.get(key);
    if (!used || used.usedAtMs < Date.now() - KEY_MEMORY_MS) return undefined;
    if (used.request === JSON.stringify(wanted)) return results.get(used.id);
    throw new PaymentWireError(400, 'invalid_request', 'Idempotence key duplicated', 'Idempotence-Key');
  }

  private remember(key: string, id: string, wanted: object): void {
    this.keys.set(key, { id, request: JSON.stringify(wanted), usedAtMs: Date.now() });
  }

  toJSON(): object {
    return {
      payments: [...this.payments.values()],
      refunds: [...this.refunds.values()],
      keys: [...this.keys],
    };
  }

  load(text: string): void {
    const { payments, refunds, keys } = JSON.parse(text) as {
      payments: SandboxPayment[];
      refunds: SandboxRefund[];
      keys: [string, UsedKey][];
    };
    for (const payment of payments) this.payments.set(payment.id, payment);
    for (const refund of refunds) this.refunds.set(refund.id, refund);
    for (const [key, used] of keys) this.keys.set(key, used);
  }
}
