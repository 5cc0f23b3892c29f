import { createHash } from 'node:crypto';
import { readIdempotencyKey, InputMistake } from '../http';
import { IdempotencyKeyInvalid, IdempotencyKeyMissing } from './orders.errors';

export interface Idempotency {
  readonly key: string;
  readonly requestHash: Buffer;
}

/**
 * Reads the `Idempotency-Key` header and hashes the request. Returns `null` without the header.
 *
 * @param request the normalised request, with defaults applied
 * @throws IdempotencyKeyInvalid
 */
export function readIdempotency(
  header: string | undefined,
  request: Readonly<Record<string, string | number>>,
): Idempotency | null {
  if (header === undefined) return null;
  const key = readIdempotencyKey(header);
  if (key instanceof InputMistake) throw new IdempotencyKeyInvalid(key);
  return { key, requestHash: hashOf(request) };
}

export const hashOf = (request: object): Buffer =>
  createHash('sha256').update(JSON.stringify(request)).digest();

/** Reads the header of a route that requires a key. @throws IdempotencyKeyMissing, IdempotencyKeyInvalid */
export function requireIdempotency(...given: Parameters<typeof readIdempotency>): Idempotency {
  const idempotency = readIdempotency(...given);
  if (!idempotency) throw new IdempotencyKeyMissing();
  return idempotency;
}

/**
 * Returns the key of the order that prolongs one proxy of a bulk request. Callers cannot send such a key,
 * because their keys contain no spaces.
 */
export const bulkOrderKey = (key: string, proxyId: number | string): string => `${key} ${proxyId}`;

/** Returns the {@link bulkOrderKey} in SQL. @param bulk table alias @param proxyId SQL expression */
export const bulkOrderKeySql = (bulk: string, proxyId: string): string =>
  `${bulk}.idempotency_key || ' ' || ${proxyId}`;

/**
 * Returns the key of the order that renews a rental, so that each (proxy, old expiry) is charged once. It
 * contains two spaces: callers' keys contain none, and keys of bulk requests' orders contain one.
 */
export const renewalKey = (proxyId: number, dateEndBefore: Date): string =>
  `renewal ${proxyId} ${Math.floor(dateEndBefore.getTime() / 1000)}`;

/** Returns SQL for the {@link renewalKey}. The parameters are SQL expressions. */
export const renewalKeySql = (proxyId: string, dateEndBefore: string): string =>
  `'renewal ' || ${proxyId} || ' ' || floor(extract(epoch FROM ${dateEndBefore}))::bigint`;
