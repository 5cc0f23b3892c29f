import { envelope, responses, toUnreadRow } from './px6-responses';

const ROW = {
  id: '11',
  host: '185.22.134.250',
  port: '7330',
  user: '5svBNZ',
  pass: 'iagn2d',
  type: 'http',
  unixtime: 1466379159,
  unixtime_end: 1468349441,
  descr: 'ours',
};
const BOUGHT = { order_id: 7, count: 1, price: '28.00', list: [ROW] };

/** Neither a storable text nor an exact number. */
const NOT_TEXT = [undefined, null, 1.5, 2 ** 53, true, {}, ['text'], 'a\0', '\ud800', 'x'.repeat(256)];
const NOT_WHOLE = [undefined, null, true, 1.5, 2 ** 53, '', '1.5', ' 1', '1\n', '0x1', '1e3', [], [1], {}];
const NOT_A_TIME = [...NOT_WHOLE, 0, -1, '0', '-1466379159', 100_000_000_000, '100000000000'];
const NOT_A_PRICE = [
  undefined,
  null,
  true,
  -1,
  '',
  '1.',
  '.5',
  '1,5',
  '1e3',
  'free',
  1e9,
  '1000000000',
  [],
  {},
];

const casesOf = (valuesOf: Readonly<Record<string, readonly unknown[]>>): [string, unknown][] =>
  Object.entries(valuesOf).flatMap(([name, values]) =>
    values.map((value): [string, unknown] => [name, value]),
  );

describe('a response of PROXY6', () => {
  it.each(
    casesOf({
      id: [undefined, null, true, '', '9'.repeat(65), 'text', '\0', -1, 1.5, 2 ** 53, [], {}],
      host: [...NOT_TEXT, 7, '', '10.0.0.0/24'],
      port: [undefined, null, true, '', 'http', '-1', '0', 65_536, '8000-8010', 1.5, [], {}],
      user: NOT_TEXT,
      pass: NOT_TEXT,
      unixtime: NOT_A_TIME,
      unixtime_end: NOT_A_TIME,
    }),
  )('has an odd row when its %s is %j, and the other row can be used', (name, value) => {
    const odd = { ...ROW, [name]: value };
    for (const list of [[odd, ROW], { 11: odd, 12: ROW }]) {
      const read = { rows: [{ id: '11' }], odd: [{ row: odd, fields: [name] }] };
      expect(responses.buy.safeParse({ ...BOUGHT, list }).success).toBe(false);
      expect(responses.getproxy.parse({ list_count: 2, list }).list).toMatchObject(read);
    }
  });

  it.each([
    ['id', 11, '11'],
    ['port', 7330, '7330'],
    ['user', 1234, '1234'],
    ['pass', 852340, '852340'],
    ['type', 'HTTP', 'http'],
    ['type', 'socks5', 'socks'],
    ['type', 'MTProto', 'mtproto'],
    ['type', 7, '7'],
    ...[null, undefined, {}, '', 'a\0', 'x'.repeat(256)].map((odd): [string, unknown, string] => [
      'type',
      odd,
      'unknown',
    ]),
    ['descr', null, ''],
    ['descr', undefined, ''],
    ['descr', 7, '7'],
    ['country', 7, undefined],
    ['country', {}, undefined],
    ['version', 5, '5'],
    ['version', 4.5, undefined],
  ])('has a row that can be used when its %s is %p', (name, value, read) => {
    const { rows, odd } = responses.getproxy.parse({ list: [{ ...ROW, [name]: value }] }).list;
    expect(odd).toEqual([]);
    expect(rows).toMatchObject([{ [name]: read }]);
  });

  it.each([
    [
      { id: 11, descr: null },
      { id: '11', orderReference: '' },
    ],
    [
      { id: null, descr: 'ours' },
      { id: null, orderReference: 'ours' },
    ],
    [
      { id: '11', descr: ['ours'] },
      { id: '11', orderReference: null },
    ],
    [null, { id: null, orderReference: '' }],
    ['text', { id: null, orderReference: '' }],
  ])('has an odd row %j, of which this much is certain: %j', (row, certain) => {
    expect(toUnreadRow({ row, fields: ['host'] })).toEqual({ ...certain, fields: ['host'] });
  });

  it.each(casesOf({ count: NOT_WHOLE, price: NOT_A_PRICE, list: [undefined, null, 'text', 7, true] }))(
    'of a purchase cannot be used when its %s is %p',
    (name, value) => {
      expect(responses.buy.safeParse({ ...BOUGHT, [name]: value }).success).toBe(false);
    },
  );

  it.each([-1, ...NOT_WHOLE])('about the stock cannot be used when it is %p', (count) => {
    expect(responses.getcount.safeParse({ count }).success).toBe(false);
  });

  it.each(NOT_WHOLE)('cannot be used when it is an error with the number %p', (number) => {
    expect(envelope.safeParse({ status: 'no', error_id: number }).success).toBe(false);
  });

  it.each([2, '2', 0, 'one', 1.5, true, {}])('to a listing cannot be used when it counts %p', (count) => {
    expect(responses.getproxy.safeParse({ list_count: 1, list: [ROW] }).success).toBe(true);
    expect(responses.getproxy.safeParse({ list_count: count, list: [ROW] }).success).toBe(false);
  });

  it.each([undefined, null, '', 'x'.repeat(65), -1, 1.5, true, [], {}])(
    'of a purchase may have the order number %p',
    (number) => expect(responses.buy.parse({ ...BOUGHT, order_id: number }).order_id).toBeUndefined(),
  );

  it('has no prices that cannot be read', () => {
    const days = { 3: 2.95, 7: '5.51', 30: 1e6, x: 1, 60: null, 90: '-1', 180: 'free' };
    expect(responses.getprice.parse({ data: { 6: days, 4: 'none', 3: [28] } }).data).toEqual({
      6: [
        [3, '2.95'],
        [7, '5.51'],
      ],
      4: [],
      3: [],
    });
  });
});
