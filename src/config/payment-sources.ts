import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** A source of payments other than the provider, such as a bot or a bank import. */
export interface PaymentSource {
  /** As Standard Webhooks has it: `whsec_` and base64. */
  readonly secret: string;
  /** Roubles, above which staff confirm a payment. */
  readonly maxPayment: string;
  /** Roubles of a day (UTC), above which staff confirm. */
  readonly maxDay: string;
}

const roubles = z.string().regex(/^\d{1,12}(\.\d{1,2})?$/);

const schema = z.record(
  z.string().regex(/^[a-z][a-z0-9-]{0,31}$/),
  z
    .strictObject({
      secret: z.string().regex(/^whsec_[A-Za-z0-9+/]{32,200}={0,2}$/),
      max_payment: roubles,
      max_day: roubles,
    })
    .transform(({ secret, max_payment: maxPayment, max_day: maxDay }): PaymentSource => ({
      secret,
      maxPayment,
      maxDay,
    })),
);

/**
 * Reads the file of `PAYMENT_SOURCES_FILE`.
 *
 * @throws Error which names the variable, and nothing of the content
 */
export function readPaymentSources(path: string | undefined): ReadonlyMap<string, PaymentSource> {
  if (path === undefined) return new Map();
  const refuse = (why: string): never => {
    throw new Error(`PAYMENT_SOURCES_FILE ${why}`);
  };
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return refuse('names a file that cannot be read, or is no JSON');
  }
  const { data, error } = schema.safeParse(content);
  if (error) {
    return refuse(`is not usable at ${error.issues.map((issue) => issue.path.join('.')).join(', ')}`);
  }
  return new Map(Object.entries(data));
}
