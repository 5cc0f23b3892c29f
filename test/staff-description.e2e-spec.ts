import { ALL_STAFF_SCOPES } from '../src/auth';
import {
  examplesOf,
  expectPage,
  isObject,
  type Json,
  operationsOf,
  readDescription,
  scopesOf,
} from './support/description';
import { forAllTests } from './support/fixtures';
import { sharedTestService } from './support/test-service';

const service = forAllTests(sharedTestService);
const description = forAllTests(() => readDescription(`${service.baseUrl}/staff/openapi.json`));

/** Finds every part of a schema that has no example. */
function findUnexemplified(schema: Json | undefined, place: string): string[] {
  if (!isObject(schema)) return [place];
  const { $ref: reference, properties, items, anyOf, allOf } = schema;
  if ('example' in schema || 'examples' in schema) return [];
  if (typeof reference === 'string') {
    const name = reference.replace('#/components/schemas/', '');
    return findUnexemplified(description.components.schemas[name], `${place} ${name}`);
  }
  if (isObject(properties)) {
    return Object.entries(properties).flatMap(([name, property]) =>
      findUnexemplified(property, `${place}.${name}`),
    );
  }
  if (Array.isArray(anyOf)) {
    const some = anyOf.filter((choice) => !isObject(choice) || choice['type'] !== 'null');
    return some.flatMap((choice) => findUnexemplified(choice, place));
  }
  if (Array.isArray(allOf)) return allOf.flatMap((part) => findUnexemplified(part, place));
  return findUnexemplified(items, `${place}[]`);
}

describe('The description for staff', () => {
  it('has the routes of staff only, and that of customers has none of them', async () => {
    const paths = operationsOf(description).map(({ path }) => path);
    expect(paths.length).toBeGreaterThan(1);
    expect(paths.filter((path) => !path.startsWith('/staff/'))).toEqual([]);
    const customers = JSON.stringify(await readDescription(`${service.baseUrl}/openapi.json`));
    expect(customers).not.toContain('staff');
    expect(customers).not.toContain('ActionOut');
  });

  it('says of every operation what it is, who uses it for what, and which scope it requires', () => {
    for (const { name, operation } of operationsOf(description)) {
      expect([name, operation]).toEqual([
        name,
        expect.objectContaining({
          summary: expect.stringMatching(/^\S.{2,}$/),
          description: expect.stringMatching(/^For .{40,}/),
          tags: [expect.any(String)],
          security: [{ staff: [expect.any(String)] }],
        }),
      ]);
      expect([name, ALL_STAFF_SCOPES]).toEqual([name, expect.arrayContaining(scopesOf(operation))]);
    }
  });

  it('describes every parameter or has an example of it', () => {
    const bare = operationsOf(description).flatMap(({ name, operation: { parameters = [] } }) =>
      parameters
        .filter((parameter) => !parameter.description && parameter.example === undefined)
        .map((parameter) => `${name} ${parameter.name}`),
    );
    expect(bare).toEqual([]);
  });

  it('has no example of a change that could be sent by haste, neither of its body nor of its key', () => {
    for (const { name, operation } of operationsOf(description)) {
      if (!operation.requestBody) continue;
      const examples = examplesOf(operation.requestBody.content['application/json']);
      const isRead = operation.operationId === 'prices.preview';
      expect([name, examples.length > 0]).toEqual([name, isRead]);
      const keys = (operation.parameters ?? []).filter(({ name: header }) => header === 'Idempotency-Key');
      for (const key of keys) {
        expect([name, key]).toEqual([name, expect.objectContaining({ required: true })]);
        expect([name, key]).not.toEqual([name, expect.objectContaining({ example: expect.anything() })]);
      }
    }
  });

  it('has an example of every response, field by field', () => {
    const bare = operationsOf(description).flatMap(({ name, operation }) => {
      const successes = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
      if (successes.length === 0) return [`${name} has no answer`];
      return successes.flatMap(([status, { content = {} }]) => {
        const types = Object.values(content);
        if (types.length === 0) return [`${name} ${status} has no content`];
        return types
          .filter((media) => examplesOf(media).length === 0)
          .flatMap((media) => findUnexemplified(media.schema, `${name} ${status}`));
      });
    });
    expect(bare).toEqual([]);
  });

  it('has an example of every error, including 401, 403 and 422', () => {
    for (const { name, operation } of operationsOf(description)) {
      const errors = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400);
      expect([name, errors.map(([status]) => status)]).toEqual([
        name,
        expect.arrayContaining(['401', '403']),
      ]);
      const takesSomething = operation.requestBody ?? (operation.parameters?.length ? operation : undefined);
      if (takesSomething) expect([name, operation.responses]).toHaveProperty('1.422');
      for (const [status, { content }] of errors) {
        const examples = examplesOf(content?.['application/json']);
        const detail: unknown = status === '422' ? expect.any(Array) : expect.any(String);
        expect([name, status, examples.length]).not.toEqual([name, status, 0]);
        expect([name, status, examples]).toMatchObject([name, status, examples.map(() => ({ detail }))]);
      }
    }
  });

  it('has patterns that every engine compiles: no lookaround, and no class that needs a flag', async () => {
    const customers = await readDescription(`${service.baseUrl}/openapi.json`);
    const patterns = [description, customers].flatMap((each) =>
      [...JSON.stringify(each).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(
        ([, text = '']) => JSON.parse(text) as string,
      ),
    );
    expect(patterns.length).toBeGreaterThan(20);
    for (const pattern of new Set(patterns)) {
      for (const flags of ['', 'u', 'v']) expect(() => new RegExp(pattern, flags)).not.toThrow();
      expect(pattern).not.toMatch(/\(\?[=!<]|\\[pPk1-9]/);
    }
  });

  it('says that unknown fields are refused, and bounds the ids of paths', () => {
    for (const { name, operation } of operationsOf(description)) {
      const { schema } = operation.requestBody?.content['application/json'] ?? {};
      const reference = isObject(schema) && typeof schema['$ref'] === 'string' && schema['$ref'];
      if (reference) {
        const body = description.components.schemas[reference.replace(/^.*\//, '')];
        expect([name, body?.['additionalProperties']]).toEqual([name, false]);
      }
      for (const parameter of operation.parameters?.filter((each) => each.in === 'path') ?? []) {
        expect([name, parameter.schema]).toEqual([
          name,
          expect.objectContaining({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
        ]);
      }
    }
  });

  it('has a page of its own', () =>
    expectPage(`${service.baseUrl}/staff/docs`, 'Proxy Rental Service: staff'));
});
