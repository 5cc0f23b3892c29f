import { z } from 'zod';
import type { PaymentMark, ProviderPayment, ProviderRefund } from './payment-provider';

/*
 * The used fields of YooKassa's API v3. Unknown fields are ignored: the provider adds some without a new
 * version. Any other difference makes a response unusable.
 */

const amount = z.object({
  value: z.string().regex(/^\d{1,12}(\.\d{1,8})?$/),
  currency: z.string().regex(/^[A-Z]{3}$/),
});

const id = z.string().regex(/^[\w-]{1,64}$/);

const moment = z.string().transform((text, { issues }) => {
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time;
  issues.push({ code: 'custom', input: text });
  return z.NEVER;
});

/** Data on a payment or a refund. The shop may have some that are not ours. */
const metadata = z.record(z.string(), z.unknown()).optional();

/** A word, such as `insufficient_funds`. */
const cancellation = z.object({ reason: z.string().regex(/^\w{1,64}$/) }).optional();

const payment = z.object({
  id,
  status: z.enum(['pending', 'waiting_for_capture', 'succeeded', 'canceled']),
  amount,
  created_at: moment,
  captured_at: moment.optional(),
  confirmation: z.object({ confirmation_url: z.string().optional() }).optional(),
  cancellation_details: cancellation,
  test: z.boolean(),
  metadata,
});

const refund = z.object({
  id,
  payment_id: id,
  status: z.enum(['pending', 'succeeded', 'canceled']),
  amount,
  created_at: moment,
  cancellation_details: cancellation,
  metadata,
});

const integer = z
  .string()
  .regex(/^[1-9]\d{0,14}$/)
  .transform(Number);

const mark = z
  .object({
    deposit_id: integer,
    deposit_key: z.uuid(),
    user_id: integer,
    environment: z.string().max(64),
    idempotency_key: z.string().max(255).optional(),
  })
  .transform((read): PaymentMark => ({
    depositId: read.deposit_id,
    paymentKey: read.deposit_key,
    userId: read.user_id,
    environment: read.environment,
    idempotencyKey: read.idempotency_key ?? null,
  }));

/** The metadata of a payment: texts of at most 512 characters. */
export const toMetadata = (of: PaymentMark): Readonly<Record<string, string>> => ({
  deposit_id: String(of.depositId),
  deposit_key: of.paymentKey,
  user_id: String(of.userId),
  environment: of.environment,
  ...(of.idempotencyKey !== null && { idempotency_key: of.idempotencyKey }),
});

/** The payment was not confirmed in time: the deposit is reported as expired. */
const EXPIRED = new Set(['expired_on_confirmation', 'expired_on_capture']);

const stateOf = ({ status, cancellation_details: details }: z.output<typeof payment>) => {
  if (status === 'waiting_for_capture') return 'pending';
  return status === 'canceled' && EXPIRED.has(details?.reason ?? '') ? 'expired' : status;
};

export const paymentResponse = payment.transform((read): ProviderPayment => ({
  id: read.id,
  state: stateOf(read),
  reason: read.cancellation_details?.reason ?? null,
  amount: read.amount,
  mark: mark.safeParse(read.metadata).data ?? null,
  paymentUrl: read.status === 'pending' ? (read.confirmation?.confirmation_url ?? null) : null,
  isTest: read.test,
  createdAt: read.created_at,
  paidAt: read.captured_at ?? null,
}));

export const refundResponse = refund.transform((read): ProviderRefund => ({
  id: read.id,
  paymentId: read.payment_id,
  state: read.status,
  reason: read.cancellation_details?.reason ?? null,
  amount: read.amount,
  createdAt: read.created_at,
  refundKey: z.uuid().safeParse(read.metadata?.['refund_key']).data ?? null,
}));

/** Why a request was refused. */
export const errorResponse = z.object({
  code: z.string().optional(),
  parameter: z.string().optional(),
  description: z.string().optional(),
});

const MOST_OF_REASON = 300;

/** The reason of a refusal in a line, which may quote the address of a customer. */
export const reasonOf = ({ code, parameter, description }: z.output<typeof errorResponse> = {}): string =>
  [code, parameter, description]
    .filter((part) => part !== undefined)
    .join(', ')
    .replace(/[^\s@]*@[^\s@]*/g, '[address]')
    .replace(/\p{C}+/gu, ' ')
    .slice(0, MOST_OF_REASON);

export const listOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), next_cursor: z.string().optional() });
