import { z } from 'zod';
import { PROXY_TYPES } from '../../common';
import type { RefusalReason } from '../provider-errors';

/*
 * The answers of the PROXY6 interface. Numbers come as numbers or as strings, depending on the method and the
 * year. A list is an object keyed by id or an array, and `[]` when it is empty. Unknown fields are ignored.
 * Any other difference makes the answer unusable.
 */

const integer = z.union([z.int(), z.string().regex(/^-?\d{1,15}$/)]).transform((value) => Number(value));

const decimal = z
  .union([z.number(), z.string()])
  .transform(String)
  .pipe(z.string().regex(/^\d{1,12}(\.\d{1,12})?$/));

/**
 * The balance of our account, which may be overdrawn. An unreadable one does not make the answer unusable.
 */
const balance = z
  .union([z.number(), z.string()])
  .transform(String)
  .pipe(z.string().regex(/^-?\d{1,10}(\.\d{1,12})?$/))
  .optional()
  .catch(undefined);

const pricesByDays = z.record(z.string().regex(/^\d{1,4}$/), decimal).optional();

const identifier = z.union([z.int().nonnegative(), z.string().min(1).max(64)]).transform(String);

const unixSeconds = integer.pipe(z.int().positive().max(99_999_999_999)).transform((s) => new Date(s * 1000));

const listOf = <Item extends z.ZodType>(item: Item) =>
  z.union([z.array(item), z.record(z.string(), item).transform((byId) => Object.values(byId))]);

const proxy = z.object({
  id: identifier,
  host: z.string().min(1),
  port: z.union([z.int(), z.string().regex(/^\d{1,5}$/)]).transform(String),
  user: z.string(),
  pass: z.string(),
  type: z.enum([...PROXY_TYPES, 'auto']),
  unixtime: unixSeconds,
  unixtime_end: unixSeconds,
});

export type Px6Proxy = z.output<typeof proxy>;

export const answers = {
  getcountry: z.object({ list: listOf(z.string().regex(/^[A-Za-z]{2,4}$/)) }),
  getcount: z.object({ count: integer.pipe(z.int().nonnegative()) }),
  /** The price of an offer, or the table of prices by the provider's number of the version. */
  getprice: z.object({
    price: decimal.optional(),
    data: z.object({ 6: pricesByDays, 4: pricesByDays, 3: pricesByDays }).optional(),
  }),
  /** A page. `list_count` counts its rows: a page with another number of them was not told completely. */
  getproxy: z
    .object({
      list_count: integer.nullish(),
      list: listOf(
        proxy.extend({
          descr: z.string(),
          country: z.string().nullish(),
          version: z.union([z.int(), z.string()]).transform(String).nullish(),
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
} as const;

export type Px6ListedProxy = z.output<typeof answers.getproxy>['list'][number];

export type Px6Method = keyof typeof answers;

/**
 * The envelope of every answer. The caller checks `currency`: a purchase in another one was made all the
 * same.
 */
export const envelope = z.discriminatedUnion('status', [
  z.object({ status: z.literal('yes'), currency: z.string(), balance }),
  z.object({ status: z.literal('no'), error_id: integer }),
]);

/**
 * The documented errors after which nothing was done. After error 30, or one that is not here, that is
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
