import { z } from 'zod';
import { type UnreadableRow, type ProxyType, readRows } from '../../common';
import type { ProviderRefusal } from '../provider-errors';
import type { UnreadRow } from '../proxy-provider';

/*
 * A number may be a JSON number or a string. A list may be an array, or an object keyed by id. Anything else
 * that is unexpected makes a response unusable, except in a list's rows, which may be unrelated to us.
 */

/** Creates a field; `read` returns undefined for invalid values. Zod's unions take five times as long. */
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

/** Reads a string that the database can store, or an exact number. */
const readText = (value: unknown, pattern = /^[^\0\p{Surrogate}]{0,255}$/u): string | undefined => {
  if (typeof value !== 'string' && !Number.isSafeInteger(value)) return undefined;
  const text = String(value);
  return pattern.test(text) ? text : undefined;
};

const readIdentifier = (value: unknown): string | undefined => readText(value, /^\d{1,20}$/);

/** A proxy bought by hand at the provider may have no order reference. */
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

/** Accepts unknown types, because a delivered proxy takes its type from the order. */
const readType = (value: unknown): string => {
  const word = readText(value, /^[\w-]{1,32}$/)?.toLowerCase() ?? 'unknown';
  return TYPES.get(word) ?? word;
};

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const integer = field(readInteger);

/** Roubles. Allows more than any order may cost. */
const amount = field((value) => readDecimal(value, /^\d{1,9}(\.\d{1,12})?$/));

/** May be negative. Omitted if unreadable. */
const balance = z.transform((value) => readDecimal(value, /^-?\d{1,10}(\.\d{1,12})?$/)).optional();

const identifier = field(readIdentifier);

/** An id for information only, omitted if unreadable. */
const informalId = z.transform(readIdentifier).optional();

/** Unreadable prices are omitted. */
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

/** The length is unlimited here, because the client checks the number of rows. */
const listOf = <Row extends z.ZodType>(row: Row) =>
  field((list) => readRows(isObject(list) ? Object.values(list) : list, Infinity, row));

/** All fields except the type must be readable, because deliveries, renewals and refunds depend on them. */
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

const listedProxy = proxy.extend({
  descr: field(readDescr),
  country: z.transform((value) => readText(value, /^[A-Za-z]{2,4}$/)).optional(),
  version: z.transform((value) => readText(value)).optional(),
});

export type Px6ListedProxy = z.output<typeof listedProxy>;

export const toUnreadRow = ({ row, fields }: UnreadableRow): UnreadRow => {
  const { id, descr } = Object(row) as Partial<Record<'id' | 'descr', unknown>>;
  return { id: readIdentifier(id) ?? null, orderReference: readDescr(descr) ?? null, fields };
};

export const responses = {
  account: z.object({ user_id: identifier }),
  getcountry: z.object({ list: listOf(z.string().regex(/^[A-Za-z]{2,4}$/)) }),
  getcount: z.object({ count: integer.pipe(z.int().nonnegative()) }),
  /** The price of an offer, or a table of prices by the provider's version number. */
  getprice: z.object({
    price: amount.optional(),
    data: z.object({ 6: pricesByDays, 4: pricesByDays, 3: pricesByDays }).optional(),
  }),
  getproxy: z
    .object({ list_count: integer.nullish(), list: listOf(listedProxy) })
    .refine(({ list_count: count, list: { rows, odd } }) => {
      const listed = rows.length + odd.length;
      return (count ?? listed) === listed;
    }),
  /** One unreadable row makes the whole response unusable. A later listing then shows the proxies. */
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

/** Accepts any currency, because a purchase in another currency was still made. Callers check `currency`. */
export const envelope = z.discriminatedUnion('status', [
  z.object({ status: z.literal('yes'), currency: z.string(), balance, user_id: informalId }),
  z.object({ status: z.literal('no'), error_id: integer }),
]);

/** Documented errors after which nothing was done. Error 30 and unlisted errors leave the outcome unknown. */
export const refusals: ReadonlyMap<number, ProviderRefusal> = new Map([
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
