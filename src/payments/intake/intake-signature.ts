import { createHmac, timingSafeEqual } from 'node:crypto';

const TOLERANCE_SECONDS = 300;
const SECRET_PREFIX = 'whsec_';

export interface SignedRequest {
  readonly id: string | undefined;
  readonly timestamp: string | undefined;
  /** One or more signatures, separated by spaces. */
  readonly signatures: string | undefined;
  readonly body: Buffer;
}

/** Returns whether a request was signed recently with one of the secrets, as Standard Webhooks specifies. */
export function isSigned(
  { id, timestamp, signatures, body }: SignedRequest,
  secrets: readonly string[],
  now: Date,
): boolean {
  if (!id || id.length > 255 || !timestamp || !/^\d{1,12}$/.test(timestamp) || !signatures) return false;
  if (Math.abs(now.getTime() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const expected = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  });
  return signatures.split(' ', 8).some((signature) => {
    const [version, text = ''] = signature.split(',', 2);
    const given = Buffer.from(text, 'base64');
    return (
      version === 'v1' &&
      expected.some((signed) => given.length === signed.length && timingSafeEqual(given, signed))
    );
  });
}
