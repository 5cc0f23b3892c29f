import { z } from 'zod';
import { isId, readRows } from '../../common';
import type { PaymentMark, ProviderPayment, ProviderRefund } from './payment-provider';

/*
 * Unknown fields are ignored, because YooKassa adds fields without changing its API version. A row is
 * unusable if a field that affects money cannot be parsed; any other unparsable field is treated as missing.
 */

const amount = z.object({
  value: z.string().regex(/^\d{1,12}(\.\d{1,8})?$/),
  currency: z.string().regex(/^[A-Z]{3}$/),
});

const id = z.string().regex(/^[\w-]{1,64}$/);

/** Rejects NUL, because PostgreSQL cannot store it in a string. */
const text = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((read) => !read.includes('\0'));

const moment = z.string().transform((read, { issues }) => {
  const time = new Date(read);
  if (!Number.isNaN(time.getTime())) return time;
  issues.push({ code: 'custom', input: read });
  return z.NEVER;
});

/** Accepts any metadata, because the shop's other programs may write their own. */
const metadata = z.record(z.string(), z.unknown()).nullish();

const shown = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().catch(null);

const MOST_OF_REASON = 300;

/** Returns the reason as one line, with email addresses masked. */
const toReason = (given: string): string =>
  given
    .replace(/[^\s@]*@[^\s@]*/g, '[address]')
    .replace(/\p{C}+/gu, ' ')
    .slice(0, MOST_OF_REASON);

const cancellation = shown(z.object({ reason: z.string().transform(toReason) }));

/** An unreadable state becomes `unknown`, so that the receipt is read again. */
const receipt = z.enum(['pending', 'succeeded', 'canceled', 'unknown']).nullish().catch('unknown');

const payment = z
  .object({
    id,
    status: z.enum(['pending', 'waiting_for_capture', 'succeeded', 'canceled']),
    paid: z.unknown(),
    amount,
    created_at: moment,
    captured_at: shown(moment),
    confirmation: shown(z.object({ confirmation_url: text(2048).nullish() })),
    cancellation_details: cancellation,
    receipt_registration: receipt,
    test: z.boolean(),
    metadata,
  })
  .refine(({ status, paid }) => status !== 'succeeded' || paid === true, { path: ['paid'] });

const refund = z.object({
  id,
  payment_id: id,
  status: z.enum(['pending', 'succeeded', 'canceled']),
  amount,
  created_at: moment,
  cancellation_details: cancellation,
  receipt_registration: receipt,
  metadata,
});

const integer = z.string().refine(isId).transform(Number);

const mark = z
  .object({
    deposit_id: integer,
    deposit_key: z.uuid(),
    user_id: integer,
    environment: text(64),
    idempotency_key: text(255).optional(),
  })
  .transform((read): PaymentMark => ({
    depositId: read.deposit_id,
    paymentKey: read.deposit_key,
    userId: read.user_id,
    environment: read.environment,
    idempotencyKey: read.idempotency_key ?? null,
  }));

/** The provider limits each value to 512 characters. */
export const toMetadata = (of: PaymentMark): Readonly<Record<string, string>> => ({
  deposit_id: String(of.depositId),
  deposit_key: of.paymentKey,
  user_id: String(of.userId),
  environment: of.environment,
  ...(of.idempotencyKey !== null && { idempotency_key: of.idempotencyKey }),
});

const EXPIRED = new Set(['expired_on_confirmation', 'expired_on_capture']);

const stateOf = ({ status, cancellation_details: details }: z.output<typeof payment>) => {
  if (status === 'waiting_for_capture') return 'pending';
  return status === 'canceled' && EXPIRED.has(details?.reason ?? '') ? 'expired' : status;
};

export const paymentResponse = payment.transform((read): ProviderPayment => ({
  id: read.id,
  state: stateOf(read),
  reason: read.cancellation_details?.reason ?? null,
  receipt: read.receipt_registration ?? null,
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
  receipt: read.receipt_registration ?? null,
  amount: read.amount,
  createdAt: read.created_at,
  refundKey: z.uuid().safeParse(read.metadata?.['refund_key']).data ?? null,
}));

export const errorResponse = z.object({
  code: z.string().optional(),
  parameter: z.string().optional(),
  description: z.string().optional(),
});

export const reasonOf = ({ code, parameter, description }: z.output<typeof errorResponse> = {}): string =>
  toReason([code, parameter, description].filter((part) => part !== undefined).join(', '));

/** The provider's maximum page size. */
export const LISTED_AT_ONCE = 100;

/** Parses each row separately, so that an unusable row does not hide the others. */
export const listOf = <Item extends z.ZodType>(item: Item) =>
  z
    .object({ items: z.unknown(), next_cursor: z.string().nullish() })
    .transform(({ items, next_cursor }, { issues }) => {
      const read = readRows(items, LISTED_AT_ONCE, item);
      if (read) return { ...read, next_cursor };
      issues.push({ code: 'custom', input: 'items' });
      return z.NEVER;
    });
