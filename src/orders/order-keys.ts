import { createHash } from 'node:crypto';
import { readIdempotencyKey, Refusal } from '../http';
import { IdempotencyKeyInvalid } from './orders.errors';

/** A caller's key, and the hash of the request that it stands for. */
export interface Idempotency {
  readonly key: string;
  readonly requestHash: Buffer;
}

/**
 * Reads the header, with the request that it stands for.
 *
 * @param request what the key stands for, with defaults applied and normalised
 * @throws IdempotencyKeyInvalid
 */
export function readIdempotency(
  header: string | undefined,
  request: Readonly<Record<string, string | number>>,
): Idempotency | null {
  if (header === undefined) return null;
  const key = readIdempotencyKey(header);
  if (key instanceof Refusal) throw new IdempotencyKeyInvalid(key);
  return { key, requestHash: createHash('sha256').update(JSON.stringify(request)).digest() };
}

/**
 * The key of the order that prolongs one proxy of a bulk. No caller can send it, because keys have no spaces.
 */
export const bulkOrderKey = (key: string, proxyId: number | string): string => `${key} ${proxyId}`;

/** The same in SQL, for rows of `bulk_prolongations`. @param proxyId an expression */
export const bulkOrderKeySql = (bulk: string, proxyId: string): string =>
  `${bulk}.idempotency_key || ' ' || ${proxyId}`;
