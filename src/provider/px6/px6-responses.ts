import { z } from 'zod';
import { PROXY_TYPES } from '../../common';
import type { RefusalReason } from '../provider-errors';

/*
 * The responses of the PROXY6 API. Numbers come as JSON numbers or strings, depending on the method and the
 * year. A list is an object keyed by id or an array, and `[]` when it is empty. Unknown fields are ignored.
 * Any other difference makes the response unusable.
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

const LATEST_UNIX_SECONDS = 99_999_999_999;

const integer = field(readInteger);

const decimal = field((value) => readDecimal(value, /^\d{1,12}(\.\d{1,12})?$/));

/**
 * The balance of our account, which may be overdrawn. An unreadable one does not make the response unusable.
 */
const balance = z.transform((value) => readDecimal(value, /^-?\d{1,10}(\.\d{1,12})?$/)).optional();

/** The id of our account. It only distinguishes accounts: an unreadable one is omitted. */
const accountId = z
  .transform((value) => (typeof value === 'string' || typeof value === 'number' ? String(value) : undefined))
  .optional();

const pricesByDays = z.record(z.string().regex(/^\d{1,4}$/), decimal).optional();

const identifier = field((value) => {
  if (typeof value === 'string') return value.length > 0 && value.length <= 64 ? value : undefined;
  return Number.isSafeInteger(value) && Number(value) >= 0 ? String(value) : undefined;
});

const port = field((value) => {
  if (typeof value === 'string') return /^\d{1,5}$/.test(value) ? value : undefined;
  return Number.isSafeInteger(value) ? String(value) : undefined;
});

const unixSeconds = field((value) => {
  const seconds = readInteger(value);
  const isTime = seconds !== undefined && seconds > 0 && seconds <= LATEST_UNIX_SECONDS;
  return isTime ? new Date(seconds * 1000) : undefined;
});

const wireVersion = field((value) =>
  typeof value === 'string' || Number.isSafeInteger(value) ? String(value) : undefined,
);

const listOf = <Item extends z.ZodType>(item: Item) =>
  z.preprocess(
    (list) =>
      typeof list === 'object' && list !== null && !Array.isArray(list) ? Object.values(list) : list,
    z.array(item),
  );

const proxy = z.object({
  id: identifier,
  host: z.string().min(1),
  port,
  user: z.string(),
  pass: z.string(),
  type: z.enum([...PROXY_TYPES, 'auto']),
  unixtime: unixSeconds,
  unixtime_end: unixSeconds,
});

export type Px6Proxy = z.output<typeof proxy>;

export const responses = {
  /** Only the envelope. */
  account: z.object({ user_id: identifier }),
  getcountry: z.object({ list: listOf(z.string().regex(/^[A-Za-z]{2,4}$/)) }),
  getcount: z.object({ count: integer.pipe(z.int().nonnegative()) }),
  /** The price of an offer, or the table of prices by the provider's number of the version. */
  getprice: z.object({
    price: decimal.optional(),
    data: z.object({ 6: pricesByDays, 4: pricesByDays, 3: pricesByDays }).optional(),
  }),
  /** A page. `list_count` counts its rows: a page with another number of rows is incomplete. */
  getproxy: z
    .object({
      list_count: integer.nullish(),
      list: listOf(
        proxy.extend({
          descr: z.string(),
          country: z.string().nullish(),
          version: wireVersion.nullish(),
        }),
      ),
    })
    .refine(({ list_count: count, list }) => (count ?? list.length) === list.length),
  buy: z.object({
    order_id: identifier.nullish(),
    count: integer,
    price: decimal,
    list: listOf(proxy),
  }),
  prolong: z.object({
    order_id: identifier.nullish(),
    price: decimal,
    list: listOf(z.object({ id: identifier, unixtime_end: unixSeconds })),
  }),
  settype: z.object({}),
} as const;

export type Px6ListedProxy = z.output<typeof responses.getproxy>['list'][number];

export type Px6Method = keyof typeof responses;

/**
 * The envelope of every response. The caller checks `currency`: a purchase in another one has still been
 * made.
 */
export const envelope = z.discriminatedUnion('status', [
  z.object({ status: z.literal('yes'), currency: z.string(), balance, user_id: accountId }),
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
