import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { type DomainError, IP_VERSIONS, jsonOrUndefined } from '../common';
import { PreparationExpired, PreparationExpiring, PreparationUnknown } from './agents.errors';

/** How long a prepared order can be placed, in seconds. */
const VALID_SECONDS = 900;
/** Minimum seconds after the expiry during which an earlier call may still be placing the order. */
const PLACING_SECONDS = 120;

const COUNT = z.int().positive();

/** Content of an order reference. The names are short, because agents copy the reference. */
const PREPARED = z.strictObject({
  /** Expiry of the reference, in seconds since 1970. */
  u: COUNT,
  /** Random string: two preparations of the same order must yield two orders. */
  n: z.string(),
  /** Price in roubles, which becomes the `max_price` of the order. */
  m: z.string().regex(/^\d+\.\d\d$/),
  /** Period in days. */
  d: COUNT,
  /** Purchase: country, version, count, type, and whether partial delivery is allowed. */
  p: z.tuple([z.string(), z.enum(IP_VERSIONS), COUNT, z.string(), z.boolean()]).optional(),
  /** The ids of the proxies to prolong. */
  r: z.array(z.string()).optional(),
});

export type OrderPreparation = Omit<z.infer<typeof PREPARED>, 'n' | 'u'>;

/** An idempotency key under which the reference's order may have been placed. */
interface PossibleOrder {
  readonly idempotencyKey: string;
  /** Reason why the order cannot be placed with this key; `null` if it can be placed. */
  readonly refusal: DomainError | null;
}

/** Characters that copying may add around a reference: white space, quotes, brackets and punctuation. */
const ADDED = String.raw`\s"'\x60*,;.…<>\p{Ps}\p{Pe}\p{Pi}\p{Pf}`;
const ADDITIONS = new RegExp(`^[${ADDED}]+|(?<![=${ADDED}])[=${ADDED}]+$`, 'gu');

/**
 * Creates an order reference, which contains the whole order and is not stored. An HMAC with the token's hash
 * as key proves to every replica that this service prepared the order for this token.
 */
export function writeReference(
  prepared: OrderPreparation,
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
 * Reads an order reference, ignoring characters that copying added. For expired, damaged and foreign
 * references, returns a refusal instead of throwing it, because their order may exist. The keys include the
 * hash of the reference as given, which earlier versions used as the idempotency key.
 *
 * @param longestOrderSeconds the maximum time that a request may wait for its order
 * @returns the order, and the keys to try, in sequence; only the canonical spelling places an order
 * @throws PreparationUnknown if the reference contains no order
 */
export function readReference(
  given: string,
  tokenHash: string,
  now: Date,
  longestOrderSeconds: number,
): { readonly prepared: OrderPreparation; readonly keys: readonly PossibleOrder[] } {
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
 * Returns why an order cannot be placed; null if it can. An earlier call may still be placing the order for a
 * while after the expiry. `left` is the time until the expiry, in seconds.
 */
function refusalOf(left: number, longestOrderSeconds: number): DomainError | null {
  if (left > 0) return null;
  const placingLeft = left + Math.max(PLACING_SECONDS, longestOrderSeconds);
  return placingLeft > 0 ? new PreparationExpiring(placingLeft) : new PreparationExpired();
}

/** Returns a string's HMAC, truncated to 128 bits: short enough to copy, and still secure. */
const macOf = (text: string, tokenHash: string): Buffer =>
  createHmac('sha256', Buffer.from(tokenHash, 'hex')).update(text).digest().subarray(0, 16);
