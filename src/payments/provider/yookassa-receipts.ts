import type { CashRegister } from '../../config';
import type { PaidAmount } from './payment-provider';

/** A fiscal receipt (54-FZ) as YooKassa's API takes it. */
export interface Receipt {
  readonly customer: { readonly email: string };
  readonly tax_system_code?: number;
  readonly items: readonly [object];
}

/** Registers of the fiscal format 1.2 require it, and others ignore it. */
const MEASURE = { measure: 'piece' };

/** The receipt of a deposit. */
export const receiptOf = (
  email: string,
  amount: PaidAmount,
  description: string,
  vatCode: number,
  { mode, subject, taxSystem }: CashRegister,
): Receipt => ({
  customer: { email },
  ...(taxSystem !== undefined && { tax_system_code: taxSystem }),
  items: [
    {
      description,
      quantity: '1.00',
      ...MEASURE,
      amount,
      vat_code: vatCode,
      payment_mode: mode,
      payment_subject: subject,
    },
  ],
});

/** The receipt of the same item for a part of the payment. Older receipts contain no measure. */
export const partOf = ({ items: [item], ...receipt }: Receipt, amount: PaidAmount): Receipt => ({
  ...receipt,
  items: [{ ...MEASURE, ...item, amount }],
});
