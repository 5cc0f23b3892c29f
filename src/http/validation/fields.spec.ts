import { Body, Controller, Get, Post, Query, type Type } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import type { Request } from 'express';
import { Money } from '../../common';
import {
  AmountField,
  BooleanField,
  BoundField,
  DateField,
  DateTimeField,
  IntegerField,
  ObjectField,
  StringField,
  StringListField,
} from './fields';
import { RequestInvalid } from './input-mistake';
import { instanceOf, readInput } from './read-input';

class Shelf {
  @StringField({ minLength: 2, maxLength: 4 })
  readonly country!: string;

  @IntegerField({ greaterThan: 0, atMost: 1000, default: 1 })
  readonly count!: number;

  @StringField({ pattern: '^(http|socks)$', absent: 'null', describesNull: true })
  readonly proxy_type!: 'http' | 'socks' | null;

  @BooleanField({ default: false })
  readonly active_only!: boolean;
}

class Item {
  @StringField({ minLength: 2, maxLength: 4 })
  readonly country!: string;

  @IntegerField({ greaterThan: 0, atMost: 1000, default: 1 })
  readonly count!: number;
}

@Controller('shelves')
class ShelvesController {
  @Get()
  list(@Query() shelf: Shelf): Shelf {
    return shelf;
  }

  @Post()
  create(@Body() item: Item): Item {
    return item;
  }
}

describe('The fields of a request DTO', () => {
  const schemas = {
    country: { type: 'string', minLength: 2, maxLength: 4, title: 'Country' },
    count: { type: 'integer', maximum: 1000, exclusiveMinimum: 0, default: 1, title: 'Count' },
    proxy_type: {
      anyOf: [{ type: 'string', pattern: '^(http|socks)$' }, { type: 'null' }],
      title: 'Proxy Type',
    },
    active_only: { type: 'boolean', default: false, title: 'Active Only' },
  };

  it('appear in the OpenAPI 3.1 description as parameters and as a schema', async () => {
    const moduleRef = await Test.createTestingModule({ controllers: [ShelvesController] }).compile();
    const app = moduleRef.createNestApplication({ logger: false });
    const description = SwaggerModule.createDocument(
      app,
      new DocumentBuilder().setOpenAPIVersion('3.1.0').build(),
    );
    await app.close();

    expect(description.paths['/shelves']?.get?.parameters).toEqual(
      Object.entries(schemas).map(([name, schema]) => ({
        name,
        in: 'query',
        required: name === 'country',
        schema,
      })),
    );
    expect(description.components?.schemas?.['Item']).toEqual({
      type: 'object',
      required: ['country'],
      properties: { country: schemas.country, count: schemas.count },
    });
  });
});

class Part {
  @IntegerField()
  size!: number;

  @StringField({ default: 'red' })
  colour!: string;
}

class Everything {
  @AmountField()
  amount!: Money;

  @DateTimeField({ absent: 'null' })
  at!: Date | null;

  @StringListField({
    atLeast: 1,
    atMost: 2,
    of: { isValid: (text) => text === text.toLowerCase(), type: 'lower', msg: 'Input should be lower case' },
  })
  words!: readonly string[];

  @StringField({ absent: 'null', maxLength: 3 })
  note!: string | null;

  @IntegerField({ absent: 'null', greaterThan: 0 })
  count!: number | null;

  @DateField({ absent: 'null' })
  day!: string | null;

  @BoundField('start', { absent: 'null' })
  from!: Date | null;

  @BoundField('end', { absent: 'null' })
  to!: Date | null;

  @ObjectField(Part, { absent: 'null' })
  part!: Part | null;
}

class Change {
  @StringField({ absent: 'omitted', nullable: true })
  note!: string | null | undefined;

  @BooleanField({ absent: 'omitted' })
  enabled!: boolean | undefined;

  @AmountField({ nullable: true })
  limit!: Money | null;
}

const VALID = { amount: '1.50', words: ['a'] };

function read(body: object, dto: Type<object> = Everything): Everything {
  const route = { path: [], header: [], query: undefined, body: dto, refusesQuery: false };
  readInput(route, { body } as Request);
  return instanceOf(body) as Everything;
}

function mistakesOf(body: object, dto?: Type<object>): [string, readonly (string | number)[]][] {
  try {
    read(body, dto);
  } catch (error) {
    if (error instanceof RequestInvalid) return error.items.map(({ type, loc }) => [type, loc]);
  }
  return [];
}

describe('A field', () => {
  it('is null when it is optional and missing or null', () => {
    expect(read(VALID)).toMatchObject({ at: null, note: null, count: null });
    expect(read({ ...VALID, at: null, note: null, count: null })).toMatchObject({
      at: null,
      note: null,
      count: null,
    });
    expect(mistakesOf({ amount: null })).toEqual([
      ['decimal_type', ['body', 'amount']],
      ['missing', ['body', 'words']],
    ]);
  });

  it('of a change is undefined when it is missing, and null where that clears something', () => {
    expect(read({ limit: null }, Change)).toEqual({ note: undefined, enabled: undefined, limit: null });
    expect(read({ limit: 5n, note: null }, Change)).toMatchObject({ note: null, limit: expect.anything() });
    expect(mistakesOf({ enabled: null }, Change)).toEqual([
      ['bool_type', ['body', 'enabled']],
      ['missing', ['body', 'limit']],
    ]);
  });

  it.each([[0n], [1n], ['true'], ['no']])('refuses %p as a boolean of a body', (enabled) => {
    expect(mistakesOf({ enabled, limit: null }, Change)).toEqual([['bool_type', ['body', 'enabled']]]);
  });

  it.each([
    ['500', '500.00'],
    ['0.01', '0.01'],
    ['1.100', '1.10'],
    [5n, '5.00'],
    [0.07, '0.07'],
  ])('reads an amount exactly, to the kopeck: %p', (amount, expected) => {
    expect(read({ ...VALID, amount }).amount.toString()).toBe(expected);
  });

  it.each([
    ['', 'decimal_parsing'],
    ['1,5', 'decimal_parsing'],
    ['1e3', 'decimal_parsing'],
    [1e21, 'decimal_parsing'],
    ['9'.repeat(13), 'decimal_parsing'],
    ['1.001', 'decimal_max_places'],
    [26.334000000000003, 'decimal_max_places'],
    [`1.${'0'.repeat(20)}1`, 'decimal_max_places'],
    [1e-7, 'decimal_max_places'],
    ['01', 'decimal_parsing'],
    ['0', 'greater_than'],
    ['-1', 'greater_than'],
    [true, 'decimal_type'],
  ])('refuses anything else as an amount: %p', (amount, type) => {
    expect(mistakesOf({ ...VALID, amount })).toEqual([[type, ['body', 'amount']]]);
  });

  it.each([
    ['2026-11-21T12:00:00Z', '2026-11-21T12:00:00.000Z'],
    ['2026-11-21 12:00+03:00', '2026-11-21T09:00:00.000Z'],
    ['2026-11-21T12:00:00 03:00', '2026-11-21T09:00:00.000Z'],
    ['2026-11-21T12:00:00.123456Z', '2026-11-21T12:00:00.123Z'],
  ])('reads a date-time with its offset: %s', (at, expected) => {
    expect(read({ ...VALID, at }).at?.toISOString()).toBe(expected);
  });

  it.each([
    ['2026-11-21T12:00:00', 'timezone_aware'],
    ['2026-11-21', 'datetime_parsing'],
    ['2026-02-30T12:00:00Z', 'datetime_parsing'],
    ['9999-12-31T23:59:59-01:00', 'datetime_parsing'],
    ['2026-11-21T25:00:00Z', 'datetime_parsing'],
    ['yesterday', 'datetime_parsing'],
    [1n, 'datetime_type'],
  ])('refuses anything else as a date-time: %p', (at, type) => {
    expect(mistakesOf({ ...VALID, at })).toEqual([[type, ['body', 'at']]]);
  });

  it('reads the bounds of a period: days, both included, or times', () => {
    const { from, to } = read({ ...VALID, from: '2026-11-30', to: '2026-11-30' });
    expect([from, to]).toEqual([new Date('2026-11-30T00:00:00Z'), new Date('2026-12-01T00:00:00Z')]);
    const at = '2026-11-30T12:00:00Z';
    expect(read({ ...VALID, from: at, to: at })).toMatchObject({ from: new Date(at), to: new Date(at) });
    for (const bound of ['2026-02-30', '0000-01-01', '2026-11-30T12:00:00']) {
      expect(mistakesOf({ ...VALID, to: bound })).toEqual([
        [expect.stringMatching(/^(datetime|timezone)_/), ['body', 'to']],
      ]);
    }
  });

  it('keeps a day as text', () => {
    expect(read({ ...VALID, day: '2024-02-29' }).day).toBe('2024-02-29');
  });

  it.each([
    ['2026-02-29', 'date_from_datetime_parsing'],
    ['0000-01-01', 'date_from_datetime_parsing'],
    ['2026-1-1', 'date_from_datetime_parsing'],
    ['2026-11-21T00:00:00Z', 'date_from_datetime_parsing'],
    [1n, 'date_type'],
  ])('refuses anything else as a day: %p', (day, type) => {
    expect(mistakesOf({ ...VALID, day })).toEqual([[type, ['body', 'day']]]);
  });

  it('reads an object field by field, and names each field it refuses', () => {
    expect(read({ ...VALID, part: { size: '3', other: 1n } }).part).toEqual({ size: 3, colour: 'red' });
    expect(mistakesOf({ ...VALID, part: { colour: 5n } })).toEqual([
      ['missing', ['body', 'part', 'size']],
      ['string_type', ['body', 'part', 'colour']],
    ]);
    expect(mistakesOf({ ...VALID, part: [] })).toEqual([['model_attributes_type', ['body', 'part']]]);
  });

  it('reads a list of texts, and names each item it refuses', () => {
    expect(read({ ...VALID, words: ['a', 'b'] }).words).toEqual(['a', 'b']);
    expect(mistakesOf({ ...VALID, words: ['A', 5n] })).toEqual([
      ['lower', ['body', 'words', 0]],
      ['string_type', ['body', 'words', 1]],
    ]);
    expect(mistakesOf({ ...VALID, words: [] })).toEqual([['too_short', ['body', 'words']]]);
    expect(mistakesOf({ ...VALID, words: ['a', 'b', 'c'] })).toEqual([['too_long', ['body', 'words']]]);
    expect(mistakesOf({ ...VALID, words: 'a' })).toEqual([['list_type', ['body', 'words']]]);
  });
});
