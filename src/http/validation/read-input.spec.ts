import type { Type } from '@nestjs/common';
import type { Request } from 'express';
import type { JsonValue } from '../json/json-value';
import { parseJson } from '../json/parse-json';
import { BooleanField, IntegerField, StringField } from './fields';
import { RequestInvalid, type ValidationItem } from './input-mistake';
import { instanceOf, readInput } from './read-input';
import { StrictRequest } from './strict-request';

class Order {
  @StringField({ minLength: 2 })
  readonly country!: string;

  @IntegerField({ greaterThan: 0 })
  readonly period!: number;

  @IntegerField({ greaterThan: 0, default: 1 })
  readonly count!: number;

  @StringField({ pattern: '^(http|socks)$', absent: 'null', describesNull: true })
  readonly proxy_type!: string | null;

  @BooleanField({ default: false })
  readonly gift!: boolean;
}

function read(type: 'query' | 'body', value: JsonValue, dto: Type<object> = Order): unknown {
  const input = { path: [], header: [], query: undefined, body: undefined, refusesQuery: false };
  readInput({ ...input, [type]: dto }, { [type]: value } as unknown as Request);
  return instanceOf(value as object);
}

function itemsOf(type: 'query' | 'body', value: JsonValue, dto?: Type<object>): unknown {
  try {
    read(type, value, dto);
  } catch (error) {
    if (error instanceof RequestInvalid) return error.items;
    throw error;
  }
  return [];
}

describe('readInput', () => {
  it('gives an instance with coerced values and defaults, without undeclared fields', () => {
    const order = read('body', parseJson('{"country": "ru", "period": " 30 ", "colour": "red"}'));
    expect(order).toBeInstanceOf(Order);
    expect(order).toEqual({ country: 'ru', period: 30, count: 1, proxy_type: null, gift: false });
  });

  it('lists every mistake in the order of declaration', () => {
    const body = parseJson('{"gift": 7, "count": null, "country": "r"}');
    expect(itemsOf('body', body)).toEqual([
      {
        type: 'string_too_short',
        loc: ['body', 'country'],
        msg: 'String should have at least 2 characters',
        input: 'r',
        ctx: { min_length: 2 },
      },
      { type: 'missing', loc: ['body', 'period'], msg: 'Field required', input: body },
      { type: 'int_type', loc: ['body', 'count'], msg: 'Input should be a valid integer', input: null },
      { type: 'bool_type', loc: ['body', 'gift'], msg: 'Input should be a valid boolean', input: 7n },
    ]);
  });

  it('shows null as the input of a missing query parameter', () => {
    expect(itemsOf('query', { country: 'ru' })).toEqual([
      { type: 'missing', loc: ['query', 'period'], msg: 'Field required', input: null },
    ]);
  });

  it('reports a missing body', () => {
    expect(itemsOf('body', null)).toEqual([
      { type: 'missing', loc: ['body'], msg: 'Field required', input: null },
    ]);
  });

  it.each([['[{}]'], ['"{}"'], ['1'], ['1.5'], ['true']])('refuses %s, which is not an object', (text) => {
    expect(itemsOf('body', parseJson(text))).toEqual([
      {
        type: 'model_attributes_type',
        loc: ['body'],
        msg: 'Input should be a valid dictionary or object to extract fields from',
        input: parseJson(text),
      },
    ]);
  });

  it.each(['constructor', '__proto__', 'toString', 'then', 'find'])(
    'is not confused by the name %s',
    (name) => {
      const hostile = `{"${name}": {"${name}": 5}}`;
      const order = read('body', parseJson(`{"country": "ru", "period": 3, "${name}": ${hostile}}`));
      expect(order).toMatchObject({ country: 'ru', period: 3 });
      expect(itemsOf('body', parseJson(`{"country": ${hostile}, "period": 3}`))).toMatchObject([
        { type: 'string_type' },
      ]);
    },
  );

  it('ignores inherited properties', () => {
    expect(itemsOf('body', Object.create({ country: 'ru', period: 3n }))).toHaveLength(2);
  });
});

@StrictRequest()
class StrictOrder extends Order {}

describe('A strict DTO', () => {
  const itemsOfStrict = (type: 'query' | 'body', value: JsonValue) => itemsOf(type, value, StrictOrder);

  it('takes what it declares, also what its base class does', () => {
    const body = parseJson('{"country": "ru", "period": 30, "gift": true, "proxy_type": null}');
    expect(itemsOfStrict('body', body)).toEqual([]);
    expect(itemsOfStrict('query', { country: 'ru', period: '30', gift: 'false' })).toEqual([]);
  });

  it.each(['colour', '__proto__', 'constructor'])('refuses the unknown field %s after all others', (name) => {
    expect(itemsOfStrict('body', parseJson(`{"${name}": 1, "country": "ru", "period": 0}`))).toEqual([
      expect.objectContaining({ type: 'greater_than', loc: ['body', 'period'] }),
      { type: 'extra_forbidden', loc: ['body', name], msg: 'Extra inputs are not permitted', input: 1n },
    ]);
  });

  it.each(['body', 'query'] as const)(
    'lists its first 20 mistakes in a %s, without long inputs, and says how many more there are',
    (place) => {
      const unknown = Object.fromEntries(
        Array.from({ length: 30 }, (_, n) => [`n${n}`, '1'.repeat(n * 100)]),
      );
      const items = itemsOfStrict(place, { country: 'x', ...unknown }) as ValidationItem[];
      expect(items.map(({ loc: [, name] }) => name)).toEqual([
        'country',
        'period',
        ...Object.keys(unknown).slice(0, 18),
        undefined,
      ]);
      expect(items[12]).toMatchObject({ loc: [place, 'n10'], input: '1'.repeat(1000) });
      expect(items[13]).toEqual({ type: 'extra_forbidden', loc: [place, 'n11'], msg: expect.any(String) });
      expect(items[20]).toEqual({
        type: 'too_many_errors',
        loc: [place],
        msg: '12 more errors are omitted',
        ctx: { more: 12 },
      });
      expect(JSON.stringify(items).length).toBeLessThan(10_000);
    },
  );

  it('does not repeat a long input of any kind', () => {
    const long = [
      'x'.repeat(1001),
      Array(1001).fill(null),
      { a: { b: Array(500).fill('aa') } },
    ] as JsonValue[];
    for (const input of [...long, { colour: long[0] ?? null, period: 0, country: 'ru' }]) {
      expect(JSON.stringify(itemsOfStrict('body', input)).length).toBeLessThan(500);
    }
  });

  it.each([
    ['body', { country: 'ru', period: '30' }, 'int_type'],
    ['body', { country: 'ru', period: true }, 'int_type'],
    ['body', { country: 'ru', period: 'x' }, 'int_parsing'],
    ['body', { country: 'ru', period: 3, gift: 'true' }, 'bool_type'],
    ['query', { country: 'ru', period: '3', gift: 'yes' }, 'bool_type'],
    ['query', { country: 'r\u0000', period: '3' }, 'string_pattern_mismatch'],
    ['query', { country: 'r\u009f', period: '3' }, 'string_pattern_mismatch'],
  ] as const)('reads a %s exactly: %j is refused as %s', (place, value, type) => {
    expect(itemsOfStrict(place, value)).toEqual([expect.objectContaining({ type })]);
  });
});
