import { z } from 'zod';
import { WireError } from './wire-error';

/** The receipts that the provider accepts; of the words of 54-FZ, those that are of use here. */
const schema = z.strictObject({
  customer: z.strictObject({ email: z.email().max(254) }),
  items: z
    .array(
      z.strictObject({
        description: z.string().min(1).max(128),
        quantity: z.literal('1.00'),
        amount: z.strictObject({ value: z.string().regex(/^\d+\.\d\d$/), currency: z.literal('RUB') }),
        vat_code: z.int().min(1).max(12),
        payment_mode: z.enum(['full_prepayment', 'partial_prepayment', 'advance', 'full_payment']),
        payment_subject: z.enum(['commodity', 'service', 'payment', 'another']),
      }),
    )
    .length(1),
});

export type Receipt = z.output<typeof schema>;

/** @throws WireError if a receipt is incomplete, or not of this amount */
export function readReceipt(given: unknown, amount: { readonly value: string }): Receipt | undefined {
  if (given === undefined) return undefined;
  const { data, error } = schema.safeParse(given);
  const parameter = ['receipt', ...(error?.issues[0]?.path ?? [])].join('.');
  if (!data) throw new WireError(400, 'invalid_request', 'The receipt is incomplete', parameter);
  if (data.items[0]?.amount.value !== amount.value) {
    throw new WireError(400, 'invalid_request', 'The receipt is of another amount', 'receipt.items');
  }
  return data;
}
