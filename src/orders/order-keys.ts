import { createHash } from 'node:crypto';
import { readIdempotencyKey, InputMistake } from '../http';
import { IdempotencyKeyInvalid, IdempotencyKeyMissing } from './orders.errors';

export interface Idempotency {
  readonly key: string;
  readonly requestHash: Buffer;
}

/** @param request normalized, with defaults applied @throws IdempotencyKeyInvalid */
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

/** @throws IdempotencyKeyMissing, IdempotencyKeyInvalid */
export function requireIdempotency(...given: Parameters<typeof readIdempotency>): Idempotency {
  const idempotency = readIdempotency(...given);
  if (!idempotency) throw new IdempotencyKeyMissing();
  return idempotency;
}

/** Returns a key that contains a space, so that it never equals a caller's key. */
export const bulkOrderKey = (key: string, proxyId: number | string): string => `${key} ${proxyId}`;

/** @param bulk table alias @param proxyId SQL expression */
export const bulkOrderKeySql = (bulk: string, proxyId: string): string =>
  `${bulk}.idempotency_key || ' ' || ${proxyId}`;

/** Returns a key that limits a proxy to one charge per expiry. No other kind of key has two spaces. */
export const renewalKey = (proxyId: number, dateEndBefore: Date): string =>
  `renewal ${proxyId} ${Math.floor(dateEndBefore.getTime() / 1000)}`;

export const renewalKeySql = (proxyId: string, dateEndBefore: string): string =>
  `'renewal ' || ${proxyId} || ' ' || floor(extract(epoch FROM ${dateEndBefore}))::bigint`;
