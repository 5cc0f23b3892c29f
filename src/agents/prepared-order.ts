import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { type DomainError, IP_VERSIONS, jsonOrUndefined } from '../common';
import { PreparationExpired, PreparationExpiring, PreparationUnknown } from './agents.errors';

/** How long after its preparation an order can be placed. */
const VALID_SECONDS = 900;
/** How much longer a call that came in time may take to place it, on any replica, at least. */
const PLACING_SECONDS = 120;

const COUNT = z.int().positive();

/** Short names, because agents copy the reference as text. */
const PREPARED = z.strictObject({
  /** Until when it can be placed, in seconds since 1970. */
  u: COUNT,
  /** Makes two preparations of the same differ: they are two orders. */
  n: z.string(),
  /** The price in roubles, which is the `max_price` of the order. */
  m: z.string().regex(/^\d+\.\d\d$/),
  /** Days. */
  d: COUNT,
  /** The purchase: country, version, count, type, and whether a part may be delivered. */
  p: z.tuple([z.string(), z.enum(IP_VERSIONS), COUNT, z.string(), z.boolean()]).optional(),
  /** The ids of the proxies to prolong. */
  r: z.array(z.string()).optional(),
});

export type PreparedOrder = Omit<z.infer<typeof PREPARED>, 'n' | 'u'>;

interface PreparationReference {
  readonly prepared: PreparedOrder;
  /** Of the order, at most one of which exists. */
  readonly idempotencyKey: string;
  /** Why the order cannot be placed any more, although it may exist; `null` if it can be. */
  readonly refusal: DomainError | null;
}

/**
 * A reference to a prepared order. It contains the order and is stored nowhere; the HMAC under the hash of
 * the token shows every replica that this service prepared it for this token.
 */
export function writeReference(
  prepared: PreparedOrder,
  tokenHash: string,
  now: Date,
): { readonly ref: string; readonly expiresAt: Date } {
  const until = Math.floor(now.getTime() / 1000) + VALID_SECONDS;
  const nonce = randomBytes(4).toString('base64url');
  const text = Buffer.from(JSON.stringify({ u: until, n: nonce, ...prepared })).toString('base64url');
  const ref = `${text}.${macOf(text, tokenHash).toString('base64url')}`;
  return { ref, expiresAt: new Date(until * 1000) };
}

/**
 * Reads a reference. Its order may exist although the reference has expired, or although its token was
 * replaced, so that neither is thrown.
 *
 * @param longestOrderSeconds how long a request may wait for its order
 * @throws PreparationUnknown when it refers to nothing
 */
export function readReference(
  ref: string,
  tokenHash: string,
  now: Date,
  longestOrderSeconds: number,
): PreparationReference {
  const [text = '', mac = ''] = ref.split('.');
  const read = PREPARED.safeParse(jsonOrUndefined(Buffer.from(text, 'base64url').toString()));
  if (!read.success) throw new PreparationUnknown();
  const { u: until, n: _, ...prepared } = read.data;
  const expected = macOf(text, tokenHash);
  const given = Buffer.from(mac, 'base64url');
  const isGenuine = given.length === expected.length && timingSafeEqual(given, expected);
  const idempotencyKey = createHash('sha256').update(ref).digest('hex');
  const left = until - now.getTime() / 1000;
  return {
    prepared,
    idempotencyKey,
    refusal: isGenuine ? refusalOf(left, longestOrderSeconds) : new PreparationUnknown(),
  };
}

/**
 * Why an order cannot be placed. For a while it is unknown whether an earlier call is about to place it.
 *
 * @param left seconds until the reference expires
 */
function refusalOf(left: number, longestOrderSeconds: number): DomainError | null {
  if (left > 0) return null;
  const placingLeft = left + Math.max(PLACING_SECONDS, longestOrderSeconds);
  return placingLeft > 0 ? new PreparationExpiring(placingLeft) : new PreparationExpired();
}

/** 128 bits, which is short to copy and long enough. */
const macOf = (text: string, tokenHash: string): Buffer =>
  createHmac('sha256', Buffer.from(tokenHash, 'hex')).update(text).digest().subarray(0, 16);
