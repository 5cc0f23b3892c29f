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

/** A key under which the order of a reference may exist. */
interface PossibleOrder {
  readonly idempotencyKey: string;
  /** Why the order cannot be placed under this key; `null` if it can be. */
  readonly refusal: DomainError | null;
}

/** Copying adds these around a reference: white space, quotes, brackets and punctuation. */
const ADDED = String.raw`\s"'\x60*,;.…<>\p{Ps}\p{Pe}\p{Pi}\p{Pf}`;
const ADDITIONS = new RegExp(`^[${ADDED}]+|(?<![=${ADDED}])[=${ADDED}]+$`, 'gu');

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
 * Reads a reference in any spelling. Its order may exist although the reference has expired, was damaged, or
 * was prepared with another token, so these are not thrown. Earlier versions placed orders under the hash of
 * any spelling that they could decode.
 *
 * @param longestOrderSeconds how long a request may wait for its order
 * @returns the order, and the keys to try one after the other; only the canonical spelling places
 * @throws PreparationUnknown when it refers to nothing
 */
export function readReference(
  given: string,
  tokenHash: string,
  now: Date,
  longestOrderSeconds: number,
): { readonly prepared: PreparedOrder; readonly keys: readonly PossibleOrder[] } {
  const ref = given.replace(ADDITIONS, '');
  const [text = '', mac = ''] = ref.split('.');
  const [order, givenMac] = [text, mac].map((part) => Buffer.from(part, 'base64url')) as [Buffer, Buffer];
  const read = PREPARED.safeParse(jsonOrUndefined(order.toString()));
  if (!read.success) throw new PreparationUnknown();
  const { u: until, n: _, ...prepared } = read.data;
  const isCanonical = ref === `${order.toString('base64url')}.${givenMac.toString('base64url')}`;
  const expected = macOf(text, tokenHash);
  const isGenuine = givenMac.length === expected.length && timingSafeEqual(givenMac, expected);
  const left = until - now.getTime() / 1000;
  const refusal = isGenuine ? refusalOf(left, longestOrderSeconds) : new PreparationUnknown();
  const asGiven = { idempotencyKey: keyOf(given), refusal: new PreparationUnknown() };
  const exact = { idempotencyKey: keyOf(ref), refusal };
  const keys = isCanonical ? (given === ref ? [exact] : [asGiven, exact]) : [asGiven];
  return { prepared, keys };
}

const keyOf = (ref: string): string => createHash('sha256').update(ref).digest('hex');

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
