import { readFileSync } from 'node:fs';
import { z } from 'zod';

const roubles = z.string().regex(/^\d{1,12}(\.\d{1,2})?$/);

/** As in Standard Webhooks: `whsec_` and base64. */
const secret = z.string().regex(/^whsec_[A-Za-z0-9+/]{32,200}={0,2}$/);

const source = z.strictObject({
  /** One secret, or two while the payment source is replacing its secret. */
  secret: z.union([secret.transform((one) => [one]), z.array(secret).min(1).max(2)]),
  /** Amount in roubles above which staff must confirm a payment. */
  max_payment: roubles,
  /** Total in roubles per day (UTC) above which staff must confirm further payments. */
  max_day: roubles,
});

export type PaymentSource = z.output<typeof source>;

/** Names that a payment source must not have, because other routes use them at the same place in the path. */
const TAKEN = ['notifications'];

const schema = z.record(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/), source);

/** @throws Error that quotes nothing from the file, because the file contains secrets */
export function readPaymentSources(path: string | undefined): ReadonlyMap<string, PaymentSource> {
  if (path === undefined) return new Map();
  const refuse = (why: string): never => {
    throw new Error(`PAYMENT_SOURCES_FILE ${why}`);
  };
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return refuse('names a file that cannot be read or is not JSON');
  }
  const { data, error } = schema.safeParse(content);
  if (error) {
    return refuse(`is invalid at ${error.issues.map((issue) => issue.path.join('.')).join(', ')}`);
  }
  const taken = TAKEN.find((name) => Object.hasOwn(data, name));
  if (taken) return refuse(`cannot name a source ${taken}: another route already uses its path`);
  return new Map(Object.entries(data));
}
