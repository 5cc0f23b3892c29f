import type { CashRegister } from '../../config';
import type { PaidAmount } from './payment-provider';

/** Fiscal receipt (54-FZ) in the format of YooKassa's API. */
export interface Receipt {
  readonly customer: { readonly email: string };
  readonly tax_system_code?: number;
  readonly items: readonly [object];
}

/** Required by cash registers that use fiscal format 1.2, ignored by others. */
const MEASURE = { measure: 'piece' };

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

/** Adds the measure, because older payments' receipts were stored without it. */
export const partialReceipt = ({ items: [item], ...receipt }: Receipt, amount: PaidAmount): Receipt => ({
  ...receipt,
  items: [{ ...MEASURE, ...item, amount }],
});
