import type { ProxyOut } from './dto/proxy-out.dto';
import { ROW_SEPARATOR, rowsToJson } from './rows-to-json';

const ROW =
  '17 185.22.134.250 7330 5svBNZ iagn2d http ru 6 2026-11-01_12:00:00+00 2026-12-01_12:00:00.25+00 true null'
    .replaceAll(' ', '\x1f')
    .replaceAll('_', ' ');
const PROXY: ProxyOut = {
  id: '17',
  host: '185.22.134.250',
  port: '7330',
  login: '5svBNZ',
  password: 'iagn2d',
  proxy_type: 'http',
  country: 'ru',
  version: '6',
  date_start: '2026-11-01T12:00:00Z',
  date_end: '2026-12-01T12:00:00Z',
  active: true,
  descr: null,
};

const toJson = (proxy: ProxyOut): string => `,${JSON.stringify(proxy)}`;

describe('rowsToJson', () => {
  it('writes rows as the JSON of their proxies', () => {
    expect(rowsToJson(ROW)).toBe(toJson(PROXY));
    const other = ROW.replace('17', '18').replace('true', 'false');
    expect(rowsToJson([ROW, other].join(ROW_SEPARATOR))).toBe(
      toJson(PROXY) + toJson(Object.assign({}, PROXY, { id: '18', active: false })),
    );
  });

  it.each([
    ['a quotation mark', 'iagn2d', 'ia"gn'],
    ['a backslash', 'iagn2d', 'ia\\gn'],
    ['a control character', 'iagn2d', 'ia\x01gn'],
    ['the separator of rows', 'iagn2d', `ia${ROW_SEPARATOR}gn`],
    ['the separator of fields', 'iagn2d', 'ia\x1fgn'],
    [
      'text that looks like the end of one row and the start of another',
      'iagn2d',
      `x${ROW_SEPARATOR}${ROW.slice(0, 40)}`,
    ],
    ['no end', '\x1f2026-12-01 12:00:00.25+00', ''],
    ['an end in another time zone', '12:00:00.25+00', '12:00:00.25+03'],
    ['a distant end', '2026-12-01', '12026-12-01'],
  ])('gives undefined when a row has %s', (_, part, other) => {
    expect(rowsToJson(ROW.replace(part, other))).toBeUndefined();
    expect(rowsToJson([ROW, ROW.replace(part, other), ROW].join(ROW_SEPARATOR))).toBeUndefined();
  });

  it('takes a description as the JSON that PostgreSQL sent', () => {
    const described = ROW.replace(/null$/, '"the \\\\ \\"first\\""');
    expect(JSON.parse(rowsToJson(described)?.slice(1) ?? '')).toMatchObject({ descr: 'the \\ "first"' });
  });

  it('takes text in any script', () => {
    expect(rowsToJson(ROW.replace('iagn2d', 'пароль😀'))).toContain('"password":"пароль😀"');
  });
});
