import { type JsonValue, writeJson } from './json-value';
import { JsonSyntaxError, JsonTooComplexError, parseJson } from './parse-json';

describe('parseJson', () => {
  const values: [text: string, value: JsonValue][] = [
    ['null', null],
    [' \t\r\n true ', true],
    ['"\\u0440\\ud83d\\ude00\\n\\/"', 'р😀\n/'],
    ['"\\ud800"', '\ud800'],
    ['30', 30n],
    ['-0', 0n],
    ['123456789012345678901234567890', 123456789012345678901234567890n],
    ['3.0', 3],
    ['1e2', 100],
    ['1e400', Infinity],
    ['NaN', NaN],
    ['-Infinity', -Infinity],
    ['[1, [2.5], {}]', [1n, [2.5], {}]],
    ['{"a": 1, "a": 2}', { a: 2n }],
  ];

  it.each(values)('reads %s', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  it('treats __proto__ and constructor like any other name', () => {
    expect(Object.entries(parseJson('{"__proto__": 1, "constructor": 2}') ?? {})).toEqual([
      ['__proto__', 1n],
      ['constructor', 2n],
    ]);
  });

  const mistakes: [text: string, message: string, position: number][] = [
    ['', 'Expecting value', 0],
    ['nul', 'Expecting value', 0],
    ['[1,', 'Expecting value', 3],
    ['[1,]', 'Illegal trailing comma before end of array', 2],
    ['-', 'Expecting value', 0],
    ['{bad', 'Expecting property name enclosed in double quotes', 1],
    ["{'a':1}", 'Expecting property name enclosed in double quotes', 1],
    ['{"a":1, }', 'Illegal trailing comma before end of object', 6],
    ['{"a":1,', 'Expecting property name enclosed in double quotes', 7],
    ['{"country" "ru"}', "Expecting ':' delimiter", 11],
    ['[1 2]', "Expecting ',' delimiter", 3],
    ['{"a":1', "Expecting ',' delimiter", 6],
    ['{"a":1}}', 'Extra data', 7],
    ['01', 'Extra data', 1],
    ['"abc', 'Unterminated string starting at', 0],
    ['"abc\\', 'Unterminated string starting at', 0],
    ['"a\u0000"', 'Invalid control character at', 2],
    ['"\\x"', 'Invalid \\escape', 1],
    ['"\\u12"', 'Invalid \\uXXXX escape', 2],
    ['["😀" x]', "Expecting ',' delimiter", 5],
  ];

  it.each(mistakes)('reports the mistake in %j as Python does', (text, message, position) => {
    const mistake: JsonSyntaxError = expect.objectContaining({ message, position });
    expect(() => parseJson(text)).toThrow(mistake);
  });

  it('refuses nesting that would exhaust the stack', () => {
    expect(parseJson('['.repeat(800) + ']'.repeat(800))).toHaveLength(1);
    expect(() => parseJson('['.repeat(100_000))).toThrow(JsonTooComplexError);
  });

  it('reads integers of up to 4300 digits', () => {
    expect(parseJson(`-${'9'.repeat(4300)}`)).toBe(-(10n ** 4300n - 1n));
    expect(() => parseJson('9'.repeat(4301))).toThrow(JsonTooComplexError);
  });
});

describe('writeJson', () => {
  it.each([
    'null',
    '[1,"a\\n",{"__proto__":{}}]',
    '123456789012345678901234567890',
    '-0.0',
    '"\\ud800"',
    '0.1',
    '1e+20',
  ])('writes %s back as it was', (text) => {
    expect(writeJson(parseJson(text))).toBe(text);
  });

  it('writes null for what JSON has no literal for', () => {
    expect(writeJson(parseJson('[NaN, Infinity, -1e400]'))).toBe('[null,null,null]');
  });
});
