import type { JsonValue } from '../../json/json-value';
import { readInteger } from './read-integer';

describe('readInteger', () => {
  const accepted: [input: JsonValue, value: number][] = [
    [30n, 30],
    [3, 3],
    [-0, 0],
    [true, 1],
    [false, 0],
    ['30', 30],
    [' 6 ', 6],
    ['\u00a06\u2003', 6],
    ['\u00856\n', 6],
    ['+6', 6],
    ['-6', -6],
    ['007', 7],
    ['3.0', 3],
    ['00.00', 0],
    ['-0.0', 0],
    ['1_000', 1000],
    ['1_0.0', 10],
    ['0_7', 7],
    ['0-5', -5],
    ['0'.repeat(5000) + '1', 1],
    ['9'.repeat(30), Number.MAX_SAFE_INTEGER],
    [`-${'9'.repeat(4299)}`, Number.MIN_SAFE_INTEGER],
    [10n ** 29n, Number.MAX_SAFE_INTEGER],
    [1e18, Number.MAX_SAFE_INTEGER],
  ];

  it.each(accepted)('reads %p as %p', (input, value) => {
    expect(readInteger(input, {})).toBe(value);
  });

  const refused: [input: JsonValue, type: string][] = [
    [null, 'int_type'],
    [[3n], 'int_type'],
    [{}, 'int_type'],
    [1.5, 'int_from_float'],
    [NaN, 'finite_number'],
    [-Infinity, 'finite_number'],
    [1e19, 'int_parsing_size'],
    [-(2 ** 63), 'int_parsing_size'],
    ['9'.repeat(4301), 'int_parsing_size'],
    [`-${'9'.repeat(4300)}`, 'int_parsing_size'],
    [` ${'9'.repeat(4301)}`, 'int_parsing'],
    ['\ud8006', 'string_unicode'],
  ];

  const unreadable = [
    '| |abc|1.5|3.|.0|1e3|0x10|5,0|1 0|+-6|-+6|--6|++6|+ 6|-',
    '_1|1_|0_|1__0|1.0_0|-0-5|\ufeff6|٣|６|6\u0000|NaN|true',
  ].flatMap((texts) => texts.split('|'));

  it.each(unreadable)('cannot parse %j', (input) => {
    expect(readInteger(input, {})).toEqual({
      type: 'int_parsing',
      msg: 'Input should be a valid integer, unable to parse string as an integer',
      input,
    });
  });

  it.each(refused)('refuses %p as %s', (input, type) => {
    expect(readInteger(input, {})).toMatchObject({ type, input });
  });

  it('checks the bounds', () => {
    const bounds = { greaterThan: 0, atMost: 1000 };
    expect([readInteger('1', bounds), readInteger('1000', bounds)]).toEqual([1, 1000]);
    expect(readInteger('0', bounds)).toEqual({
      type: 'greater_than',
      msg: 'Input should be greater than 0',
      input: '0',
      ctx: { gt: 0 },
    });
    expect(readInteger(10n ** 30n, bounds)).toEqual({
      type: 'less_than_equal',
      msg: 'Input should be less than or equal to 1000',
      input: 10n ** 30n,
      ctx: { le: 1000 },
    });
  });

  it('takes linear time for a long run of spaces', () => {
    const before = process.cpuUsage();
    expect(readInteger(`${' '.repeat(100_000)}x`, {})).toMatchObject({ type: 'int_parsing' });
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
  });
});
