import type { PaidAmount } from './payment-provider';

/** A fiscal receipt (54-FZ) as YooKassa's API takes it. */
export interface Receipt {
  readonly customer: { readonly email: string };
  readonly items: readonly [object];
}

/** The receipt of a deposit, which is an advance payment. */
export const receiptOf = (
  email: string,
  amount: PaidAmount,
  description: string,
  vatCode: number,
): Receipt => ({
  customer: { email },
  items: [
    {
      description,
      quantity: '1.00',
      amount,
      vat_code: vatCode,
      payment_mode: 'advance',
      payment_subject: 'payment',
    },
  ],
});

/** The receipt of the same item for a part of the payment. */
export const partOf = ({ customer, items: [item] }: Receipt, amount: PaidAmount): Receipt => ({
  customer,
  items: [{ ...item, amount }],
});
