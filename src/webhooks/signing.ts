import { createHmac, randomBytes } from 'node:crypto';

/** As in Standard Webhooks, the secret follows in base64. */
const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Both secrets are valid while the customer switches to the new one. */
export interface SigningSecrets {
  readonly secret: string;
  readonly previousSecret: string | null;
  readonly previousSecretUntil: Date | null;
}

export const generateWebhookSecret = (): string =>
  SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');

/** Follows Standard Webhooks. `timestamp` is in Unix seconds; `body` must be exactly what is sent. */
export function signPayload(secret: string, id: string, timestamp: number, body: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

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
