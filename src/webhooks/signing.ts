import { createHmac, randomBytes } from 'node:crypto';

/** The prefix of webhooks' secrets, as in Standard Webhooks; base64 follows. */
const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** The secrets of a webhook: two while the customer changes to a new one. */
export interface SigningSecrets {
  readonly secret: string;
  readonly previousSecret: string | null;
  readonly previousSecretUntil: Date | null;
}

export const generateWebhookSecret = (): string =>
  SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');

/**
 * Signs a request as in Standard Webhooks: HMAC-SHA256 of id, timestamp and body.
 *
 * @param timestamp seconds since 1970, as in the header `webhook-timestamp`
 * @param body exactly as sent
 * @returns `v1,` and the signature in base64
 */
export function sign(secret: string, id: string, timestamp: number, body: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** The header `webhook-signature`: a signature with each secret that is valid at that time. */
export function signatureHeader(
  { secret, previousSecret, previousSecretUntil }: SigningSecrets,
  id: string,
  timestamp: number,
  body: string,
): string {
  const isPreviousValid = previousSecretUntil !== null && previousSecretUntil.getTime() > timestamp * 1000;
  const secrets = isPreviousValid && previousSecret !== null ? [secret, previousSecret] : [secret];
  return secrets.map((valid) => sign(valid, id, timestamp, body)).join(' ');
}
