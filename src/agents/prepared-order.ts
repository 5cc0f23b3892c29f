import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { type DomainError, IP_VERSIONS, jsonOrUndefined } from '../common';
import { PreparationExpired, PreparationExpiring, PreparationUnknown } from './agents.errors';

const VALID_SECONDS = 900;
/** For at least this long after its expiry, a reference's order counts as possibly being placed. */
const PLACING_SECONDS = 120;

const COUNT = z.int().positive();

/** Field names are short, because agents have to copy the reference. */
const PREPARED = z.strictObject({
  /** Expiry of the reference, as a Unix timestamp in seconds. */
  u: COUNT,
  /** Random string, so that preparing the same order twice yields two references and thus two orders. */
  n: z.string(),
  /** Price in roubles; the order's `max_price`. */
  m: z.string().regex(/^\d+\.\d\d$/),
  /** Period in days. */
  d: COUNT,
  /** Purchase: country, version, count, type, and whether partial delivery is allowed. */
  p: z.tuple([z.string(), z.enum(IP_VERSIONS), COUNT, z.string(), z.boolean()]).optional(),
  /** Ids of the proxies to prolong. */
  r: z.array(z.string()).optional(),
});

export type OrderPreparation = Omit<z.infer<typeof PREPARED>, 'n' | 'u'>;

/** An idempotency key under which the reference's order may have been placed. */
interface PossibleOrder {
  readonly idempotencyKey: string;
  /** Null if an order can be placed with this key. */
  readonly refusal: DomainError | null;
}

/** Characters that an agent may add around a reference when copying it. */
const ADDED = String.raw`\s"'\x60*,;.…<>\p{Ps}\p{Pe}\p{Pi}\p{Pf}`;
const ADDITIONS = new RegExp(`^[${ADDED}]+|(?<![=${ADDED}])[=${ADDED}]+$`, 'gu');

/** References are not stored. Their HMAC proves that this service prepared the order for this token. */
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
 * Reads a reference. Its order may already exist, even if the reference has expired or is damaged, so the
 * caller must try every returned key. A key's refusal applies only if no order exists under that key. The
 * keys include the hash of `given`, which earlier versions used as the idempotency key.
 * @param longestOrderSeconds maximum time that a request may wait for its order
 * @returns the keys to try, in sequence; only the key of the canonical spelling can place a new order
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

/** @param left seconds until the reference expires */
function refusalOf(left: number, longestOrderSeconds: number): DomainError | null {
  if (left > 0) return null;
  const placingLeft = left + Math.max(PLACING_SECONDS, longestOrderSeconds);
  return placingLeft > 0 ? new PreparationExpiring(placingLeft) : new PreparationExpired();
}

/** 128 bits are short enough to copy, and still secure. */
const macOf = (text: string, tokenHash: string): Buffer =>
  createHmac('sha256', Buffer.from(tokenHash, 'hex')).update(text).digest().subarray(0, 16);
