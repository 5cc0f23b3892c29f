import { createHash } from 'node:crypto';
import { readIdempotencyKey, Refusal } from '../http';
import { IdempotencyKeyInvalid, IdempotencyKeyMissing } from './orders.errors';

export interface Idempotency {
  readonly key: string;
  readonly requestHash: Buffer;
}

/**
 * Reads the header together with its request.
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
  if (key instanceof Refusal) throw new IdempotencyKeyInvalid(key);
  return { key, requestHash: hashOf(request) };
}

export const hashOf = (request: object): Buffer =>
  createHash('sha256').update(JSON.stringify(request)).digest();

/** The same for a route that requires a key. @throws IdempotencyKeyMissing, IdempotencyKeyInvalid */
export function requireIdempotency(...given: Parameters<typeof readIdempotency>): Idempotency {
  const idempotency = readIdempotency(...given);
  if (!idempotency) throw new IdempotencyKeyMissing();
  return idempotency;
}

/**
 * The key of the order that prolongs one proxy of a bulk. No caller can send it, because keys have no spaces.
 */
export const bulkOrderKey = (key: string, proxyId: number | string): string => `${key} ${proxyId}`;

/** The same in SQL, for rows of `bulk_prolongations`. @param proxyId an expression */
export const bulkOrderKeySql = (bulk: string, proxyId: string): string =>
  `${bulk}.idempotency_key || ' ' || ${proxyId}`;

/**
 * The key of the order that renews a rental: each (proxy, old end) is charged once. No caller can send it,
 * because keys have no spaces, and no order of a bulk has it, because its keys have one space.
 */
export const renewalKey = (proxyId: number, dateEndBefore: Date): string =>
  `renewal ${proxyId} ${Math.floor(dateEndBefore.getTime() / 1000)}`;

/** The same in SQL. @param proxyId and @param dateEndBefore are expressions */
export const renewalKeySql = (proxyId: string, dateEndBefore: string): string =>
  `'renewal ' || ${proxyId} || ' ' || floor(extract(epoch FROM ${dateEndBefore}))::bigint`;

/** Whether an order, a row of `orders`, renews a rental, as an expression. */
export const IS_RENEWAL_SQL = `coalesce(idempotency_key LIKE 'renewal % %', false)`;
