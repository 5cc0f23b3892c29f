import { z } from 'zod';
import { type OddRow, type ProxyType, readRows } from '../../common';
import type { RefusalReason } from '../provider-errors';
import type { UnreadRow } from '../proxy-provider';

/*
 * The responses of the PROXY6 API. Numbers come as JSON numbers or strings, depending on the method and the
 * year. A list is an object keyed by id or an array, and `[]` when it is empty. Unknown fields are ignored.
 * A list is read row by row: it may contain rows that have nothing to do with us. Any other difference makes
 * the response unusable.
 */

/**
 * A field with a function that reads it, and returns undefined for an invalid value. A list has a thousand
 * rows: a union with its transform and pipe takes five to ten times as long for each of their fields.
 */
const field = <Value>(read: (value: unknown) => Value | undefined) =>
  z.transform((value: unknown, { issues }): Value => {
    const result = read(value);
    if (result !== undefined) return result;
    issues.push({ code: 'custom', input: value });
    return z.NEVER;
  });

const readInteger = (value: unknown): number | undefined => {
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? (number as number) : undefined;
};

const readDecimal = (value: unknown, pattern: RegExp): string | undefined => {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const text = String(value);
  return pattern.test(text) ? text : undefined;
};

/** A text that the database can store. A number was the same text only if it is exact. */
const readText = (value: unknown, pattern = /^[^\0\p{Surrogate}]{0,255}$/u): string | undefined => {
  if (typeof value !== 'string' && !Number.isSafeInteger(value)) return undefined;
  const text = String(value);
  return pattern.test(text) ? text : undefined;
};

/** Ids are numbers. */
const readIdentifier = (value: unknown): string | undefined => readText(value, /^\d{1,20}$/);

/** A proxy that was bought by hand may have none. */
const readDescr = (value: unknown): string | undefined => readText(value ?? '');

const LATEST_UNIX_SECONDS = 99_999_999_999;
const LAST_PORT = 65_535;

const TYPES: ReadonlyMap<string, ProxyType | 'auto'> = new Map([
  ['http', 'http'],
  ['socks', 'socks'],
  ['socks5', 'socks'],
  ['auto', 'auto'],
]);

export const isKnownType = (type: string): boolean => TYPES.has(type);

/** It decides nothing: an order names its type. Another word is kept for the log. */
const readType = (value: unknown): string => {
  const word = readText(value, /^[\w-]{1,32}$/)?.toLowerCase() ?? 'unknown';
  return TYPES.get(word) ?? word;
};

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const integer = field(readInteger);

/** More roubles than anything costs: the amounts of orders are limited, too. */
const amount = field((value) => readDecimal(value, /^\d{1,9}(\.\d{1,12})?$/));

/**
 * The balance of our account, which may be overdrawn. An unreadable one does not make the response unusable.
 */
const balance = z.transform((value) => readDecimal(value, /^-?\d{1,10}(\.\d{1,12})?$/)).optional();

const identifier = field(readIdentifier);

/** An id that only informs: an unreadable one is omitted. */
const informalId = z.transform(readIdentifier).optional();

/** By days. Prices that cannot be read are omitted. */
const pricesByDays = z
  .transform((value): readonly (readonly [days: number, price: string])[] =>
    Object.entries(isObject(value) ? value : {}).flatMap(([days, price]) => {
      const read = /^\d{1,4}$/.test(days) ? readDecimal(price, /^\d{1,6}(\.\d{1,12})?$/) : undefined;
      return read === undefined ? [] : [[Number(days), read] as const];
    }),
  )
  .optional();

const port = field((value) => {
  const number = readInteger(value);
  return number !== undefined && number > 0 && number <= LAST_PORT ? String(number) : undefined;
});

const unixSeconds = field((value) => {
  const seconds = readInteger(value);
  const isTime = seconds !== undefined && seconds > 0 && seconds <= LATEST_UNIX_SECONDS;
  return isTime ? new Date(seconds * 1000) : undefined;
});

/** The client has compared the number of rows with the requested one. */
const listOf = <Row extends z.ZodType>(row: Row) =>
  field((list) => readRows(isObject(list) ? Object.values(list) : list, Infinity, row));

/**
 * All fields but the type must be readable: the id identifies the proxy, customers pay for the next four, the
 * start decides about the period of a forgotten order, and the end about renewals and refunds.
 */
const proxy = z.object({
  id: identifier,
  host: field((value) => (typeof value === 'string' ? readText(value, /^[\w.:-]{1,253}$/) : undefined)),
  port,
  user: field(readText),
  pass: field(readText),
  type: z.transform(readType),
  unixtime: unixSeconds,
  unixtime_end: unixSeconds,
});

export type Px6Proxy = z.output<typeof proxy>;

/** Unknown versions and countries are omitted. */
const listedProxy = proxy.extend({
  descr: field(readDescr),
  country: z.transform((value) => readText(value, /^[A-Za-z]{2,4}$/)).optional(),
  version: z.transform((value) => readText(value)).optional(),
});

export type Px6ListedProxy = z.output<typeof listedProxy>;

/** Reads the id and the order reference of a row that cannot be read as a whole. */
export const toUnreadRow = ({ row, fields }: OddRow): UnreadRow => {
  const { id, descr } = Object(row) as Partial<Record<'id' | 'descr', unknown>>;
  return { id: readIdentifier(id) ?? null, orderReference: readDescr(descr) ?? null, fields };
};

export const responses = {
  /** Only the envelope. */
  account: z.object({ user_id: identifier }),
  getcountry: z.object({ list: listOf(z.string().regex(/^[A-Za-z]{2,4}$/)) }),
  getcount: z.object({ count: integer.pipe(z.int().nonnegative()) }),
  /** The price of an offer, or the table of prices by the provider's number of the version. */
  getprice: z.object({
    price: amount.optional(),
    data: z.object({ 6: pricesByDays, 4: pricesByDays, 3: pricesByDays }).optional(),
  }),
  /** A page. `list_count` counts its rows: a page with another number of rows is incomplete. */
  getproxy: z
    .object({ list_count: integer.nullish(), list: listOf(listedProxy) })
    .refine(({ list_count: count, list: { rows, odd } }) => {
      const listed = rows.length + odd.length;
      return (count ?? listed) === listed;
    }),
  /** A listing shows later what a row is that cannot be read. */
  buy: z
    .object({ order_id: informalId, count: integer, price: amount, list: listOf(proxy) })
    .refine(({ list }) => list.odd.length === 0),
  prolong: z.object({
    order_id: informalId,
    price: amount,
    list: listOf(z.object({ id: identifier, unixtime_end: unixSeconds })),
  }),
  settype: z.object({}),
  check: z.object({ proxy_status: z.boolean() }),
  delete: z.object({ count: integer.pipe(z.literal(1)) }),
} as const;

export type Px6Method = keyof typeof responses;

/**
 * The envelope of every response. The caller checks `currency`: a purchase in another one has still been
 * made.
 */
export const envelope = z.discriminatedUnion('status', [
  z.object({ status: z.literal('yes'), currency: z.string(), balance, user_id: informalId }),
  z.object({ status: z.literal('no'), error_id: integer }),
]);

/**
 * The documented errors without any effect. After error 30, or one that is missing here, the effect is
 * unknown.
 */
export const refusals: ReadonlyMap<number, RefusalReason> = new Map([
  [100, 'misconfigured'],
  [105, 'misconfigured'],
  [110, 'misconfigured'],
  [200, 'count'],
  [210, 'period'],
  [220, 'country'],
  [230, 'not-found'],
  [240, 'request'],
  [250, 'request'],
  [260, 'request'],
  [270, 'request'],
  [280, 'request'],
  [300, 'out-of-stock'],
  [400, 'out-of-funds'],
  [404, 'not-found'],
  [410, 'period'],
]);
