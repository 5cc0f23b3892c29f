import { envelope, responses } from './px6-responses';

const ROW = {
  id: '11',
  host: '185.22.134.250',
  port: '7330',
  user: '5svBNZ',
  pass: 'iagn2d',
  type: 'http',
  unixtime: 1466379159,
  unixtime_end: 1468349441,
  descr: 'tag',
};
const BOUGHT = { order_id: 7, count: 1, price: '28.00', list: [ROW] };

/** Anything but text. */
const NOT_TEXT = [undefined, null, 7, true, {}, ['text']];
/** Values that are neither a whole number nor a text of one. */
const NOT_WHOLE = [undefined, null, true, 1.5, 2 ** 53, '', '1.5', ' 1', '1\n', '0x1', '1e3', [], [1], {}];
const NOT_A_TIME = [...NOT_WHOLE, 0, -1, '0', '-1466379159', 100_000_000_000, '100000000000'];
const NOT_A_PRICE = [undefined, null, true, -1, '-1', '', '1.', '.5', '1,5', '1e3', 'free', 1e21, [], {}];

/** Each value of each field, as the cases of a test. */
const casesOf = (valuesOf: Readonly<Record<string, readonly unknown[]>>): [string, unknown][] =>
  Object.entries(valuesOf).flatMap(([name, values]) =>
    values.map((value): [string, unknown] => [name, value]),
  );

describe('a response of PROXY6', () => {
  it.each(
    casesOf({
      id: [undefined, null, true, '', 'x'.repeat(65), -1, 1.5, 2 ** 53, [], {}],
      host: [...NOT_TEXT, ''],
      port: [undefined, null, true, '', 'http', '-1', '123456', 1.5, [], {}],
      user: NOT_TEXT,
      pass: NOT_TEXT,
      type: [...NOT_TEXT, '', 'HTTP', 'socks5'],
      unixtime: NOT_A_TIME,
      unixtime_end: NOT_A_TIME,
    }),
  )('cannot be used when the %s of a proxy is %p', (name, value) => {
    const list = [ROW, { ...ROW, [name]: value }];
    expect(responses.buy.safeParse(BOUGHT).success).toBe(true);
    expect(responses.buy.safeParse({ ...BOUGHT, list }).success).toBe(false);
    expect(responses.buy.safeParse({ ...BOUGHT, list: { 11: list[0], 12: list[1] } }).success).toBe(false);
    expect(responses.getproxy.safeParse({ list_count: 2, list }).success).toBe(false);
  });

  it.each(
    casesOf({
      count: NOT_WHOLE,
      price: NOT_A_PRICE,
      order_id: ['', 'x'.repeat(65), -1, 1.5, true, [], {}],
      list: [undefined, null, 'text', 7, true, [null], [[]], ['text'], { 11: null }, { id: '11' }],
    }),
  )('of a purchase cannot be used when its %s is %p', (name, value) => {
    expect(responses.buy.safeParse({ ...BOUGHT, [name]: value }).success).toBe(false);
  });

  it.each([-1, ...NOT_WHOLE])('about the stock cannot be used when it is %p', (count) => {
    expect(responses.getcount.safeParse({ count }).success).toBe(false);
  });

  it.each(NOT_WHOLE)('cannot be used when it is an error with the number %p', (number) => {
    expect(envelope.safeParse({ status: 'no', error_id: number }).success).toBe(false);
  });

  it.each(
    casesOf({
      descr: NOT_TEXT,
      country: [7, true, [], {}],
      version: [1.5, true, [], {}],
      list_count: [2, '2', 0, 'one', 1.5, true, {}],
    }),
  )('to a listing cannot be used when its %s is %p', (name, value) => {
    const listing = { list_count: 1, list: [{ ...ROW, [name]: value }], [name]: value };
    expect(responses.getproxy.safeParse({ list_count: 1, list: [ROW] }).success).toBe(true);
    expect(responses.getproxy.safeParse(listing).success).toBe(false);
  });

  it('may omit, or have no value for, optional fields', () => {
    for (const nothing of [null, undefined]) {
      const row = { ...ROW, country: nothing, version: nothing };
      expect(responses.getproxy.parse({ list_count: nothing, list: [row] }).list).toHaveLength(1);
      expect(responses.buy.parse({ ...BOUGHT, order_id: nothing }).order_id).toBe(nothing);
    }
    const { order_id: _id, ...withoutId } = BOUGHT;
    expect(responses.buy.parse(withoutId).order_id).toBeUndefined();
    expect(responses.getproxy.parse({ list: [ROW] }).list[0]).not.toHaveProperty('country');
  });
});
