import type { OpenAPIObject } from '@nestjs/swagger';
import { toOpenApi30 } from './to-openapi-30';

const NULL = { type: 'null' };
const license = { name: 'MIT', identifier: 'MIT' };

function converted(schema: object): unknown {
  const document = { openapi: '3.1.0', info: { title: 'T', version: '1', license }, paths: {} };
  return toOpenApi30({ ...document, components: { schemas: { A: schema } } }).components?.schemas?.['A'];
}

it.each([
  [
    'null',
    { title: 'T', anyOf: [{ type: 'string', maxLength: 9 }, NULL] },
    { title: 'T', type: 'string', maxLength: 9, nullable: true },
  ],
  ['null or a reference', { anyOf: [{ $ref: '#/B' }, NULL] }, { allOf: [{ $ref: '#/B' }], nullable: true }],
  [
    'null or one of several types',
    { anyOf: [{ type: 'string' }, { type: 'number' }, NULL] },
    {
      anyOf: [
        { type: 'string', nullable: true },
        { type: 'number', nullable: true },
      ],
    },
  ],
  [
    'a choice without null',
    { anyOf: [{ type: 'string' }, { $ref: '#/B' }] },
    { anyOf: [{ type: 'string' }, { $ref: '#/B' }] },
  ],
  [
    'an exclusive bound',
    { items: { exclusiveMinimum: 0 } },
    { items: { minimum: 0, exclusiveMinimum: true } },
  ],
  ['a list of examples', { examples: ['a', 'b'] }, { example: 'a' }],
])('Describes %s as 3.0 does', (_, schema, expected) => expect(converted(schema)).toEqual(expected));

it('Changes no field whose name is that of a keyword, and no data', () => {
  const data = { anyOf: [NULL], examples: [1], exclusiveMinimum: 0, default: { anyOf: [NULL] } };
  const schema = {
    properties: { anyOf: {}, example: {}, properties: {} },
    default: data,
    example: data,
    enum: [data],
  };
  expect(converted(schema)).toEqual(schema);
  expect(converted({ properties: { default: { anyOf: [{ type: 'string' }, NULL] } } })).toEqual({
    properties: { default: { type: 'string', nullable: true } },
  });
});

it('Omits what 3.0 lacks, and names the licence by its address', () => {
  const described = {
    openapi: '3.1.0',
    info: { title: 'T', version: '1', license },
    paths: {},
    webhooks: {},
  };
  expect(toOpenApi30(described as OpenAPIObject)).toEqual({
    openapi: '3.0.3',
    info: { title: 'T', version: '1', license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' } },
    paths: {},
  });
});
