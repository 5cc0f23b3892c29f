import type { ProxyOut } from './dto/proxy-out.dto';
import { rewriteRows, ROW_SEPARATOR, writeProxies } from './proxy-rows';

const ROW =
  '(17,185.22.134.250,7330,5svBNZ,iagn2d,http,ru,6,"2026-11-01 12:00:00+00","2026-12-01 12:00:00.25+00",true,)';
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

describe('rows of proxies', () => {
  it.each(['json', 'txt'] as const)('are written as the proxies that they are: %s', (format) => {
    expect(rewriteRows(ROW, format)).toBe(writeProxies([PROXY], format));
    const other = ROW.replace('17', '18').replace('true', 'false');
    expect(rewriteRows([ROW, other].join(ROW_SEPARATOR), format)).toBe(
      writeProxies([PROXY, Object.assign({}, PROXY, { id: '18', active: false })], format),
    );
  });

  it.each([
    ['a quotation mark', 'iagn2d', '"ia""gn"'],
    ['a comma', 'iagn2d', '"ia,gn"'],
    ['a backslash', 'iagn2d', '"ia\\\\gn"'],
    ['a control character', 'iagn2d', 'ia\x01gn'],
    ['the separator', 'iagn2d', `ia${ROW_SEPARATOR}gn`],
    [
      'what looks like the end of one row and another',
      'iagn2d',
      `"x)${ROW_SEPARATOR}${ROW.replaceAll('"', '""')}"`,
    ],
    [
      'what looks like a whole row',
      'iagn2d',
      `"${ROW_SEPARATOR}${ROW.replaceAll('"', '""')}${ROW_SEPARATOR}"`,
    ],
    ['no login', '5svBNZ', '""'],
    ['a description', 'true,)', 'true,mine)'],
    ['no end', '"2026-12-01 12:00:00.25+00"', ''],
    ['an end in another time zone', '12:00:00.25+00', '12:00:00.25+03'],
    ['a distant end', '"2026-12-01', '"12026-12-01'],
  ])('are left to the slow way with %s', (_, part, other) => {
    for (const format of ['json', 'txt'] as const) {
      expect(rewriteRows(ROW.replace(part, other), format)).toBeUndefined();
      expect(rewriteRows([ROW, ROW.replace(part, other), ROW].join(ROW_SEPARATOR), format)).toBeUndefined();
    }
  });

  it('may be in any script', () => {
    expect(rewriteRows(ROW.replace('iagn2d', 'пароль😀'), 'txt')).toBe(
      '185.22.134.250:7330:5svBNZ:пароль😀\n',
    );
  });
});
