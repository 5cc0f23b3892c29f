import { createHash } from 'node:crypto';
import { IdempotencyKeyInvalid } from '../orders.errors';

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

/** A caller's key, and the hash of the request that it stands for. */
export interface Idempotency {
  readonly key: string;
  readonly requestHash: Buffer;
}

/**
 * Reads the header. The draft standard writes the key in quotes; without them it is the same key.
 *
 * @param request what the key stands for, with defaults applied and normalised
 * @throws IdempotencyKeyInvalid
 */
export function readIdempotency(
  header: string | undefined,
  request: Readonly<Record<string, string | number>>,
): Idempotency | null {
  if (header === undefined) return null;
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  if (!VISIBLE_ASCII.test(key)) throw new IdempotencyKeyInvalid(header);
  return { key, requestHash: createHash('sha256').update(JSON.stringify(request)).digest() };
}
