import { createHmac, randomBytes } from 'node:crypto';

/** Prefix of a webhook's secret, which follows in base64, as in Standard Webhooks. */
const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Secrets of a webhook. Both are valid while the customer switches to a new one. */
export interface SigningSecrets {
  readonly secret: string;
  readonly previousSecret: string | null;
  readonly previousSecretUntil: Date | null;
}

export const generateWebhookSecret = (): string =>
  SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');

/**
 * Signs a request as in Standard Webhooks. Returns `v1,` and the signature in base64.
 * @param timestamp seconds since 1970, as in the header `webhook-timestamp`
 * @param body exactly as sent
 */
export function signPayload(secret: string, id: string, timestamp: number, body: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** Returns the `webhook-signature` header: one signature for each secret valid at `timestamp`. */
export function signatureHeader(
  { secret, previousSecret, previousSecretUntil }: SigningSecrets,
  id: string,
  timestamp: number,
  body: string,
): string {
  const isPreviousValid = previousSecretUntil !== null && previousSecretUntil.getTime() > timestamp * 1000;
  const secrets = isPreviousValid && previousSecret !== null ? [secret, previousSecret] : [secret];
  return secrets.map((valid) => signPayload(valid, id, timestamp, body)).join(' ');
}
