import { ALL_STAFF_SCOPES } from '../../src/auth';
import { PriceRulesService } from '../../src/pricing';
import { ReplicaReports } from '../../src/status/replica-reports';
import {
  examplesOf,
  expectPage,
  isObject,
  type Json,
  operationsOf,
  readDescription,
  scopesOf,
} from '../support/description';
import { forAllTests } from '../support/fixtures';
import { createStaff } from '../support/staff';
import { sharedTestService } from '../support/test-service';

const service = forAllTests(sharedTestService);
const description = forAllTests(() => readDescription(`${service.baseUrl}/staff/openapi.json`));

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
    // `staff` is the state of a refund that staff decide.
    expect(customers.replaceAll(/("|`)staff\1/g, '')).not.toContain('staff');
    expect(customers).not.toContain('ActionOut');
  });

  it('says of every operation what it is, who uses it for what, and which scope it requires', () => {
    for (const { name, method, operation } of operationsOf(description)) {
      expect([name, operation]).toEqual([
        name,
        expect.objectContaining({
          summary: expect.stringMatching(/^\S.{2,}$/),
          description: expect.stringMatching(/^For .{40,}/),
          tags: [expect.any(String)],
          security: [
            { staff: [expect.any(String)] },
            ...(method === 'GET' ? [{ staff: ['staff:read'] }] : []),
          ],
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
      if (successes.length === 0) return [`${name} has no response`];
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

  it('names exactly the fields of responses about the system, its prices and its sales', async () => {
    const staff = await createStaff(service, ['staff:system']);
    const user = await service.createUser();
    await user.buy({ count: 2 });
    await user.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
    await service.app.get(ReplicaReports).write();
    await service.runJob('active-flags');
    const { id } = await service.app
      .get(PriceRulesService)
      .add({ userId: user.id, markupPercent: '1' }, { by: 'test', reason: 'test' });
    const dayOf = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const which = `period=30&user_id=${user.id}&at=2099-01-01T00:00:00Z`;
    const responses = {
      '/staff/status': await staff.get('/staff/status'),
      '/staff/sales': await staff.get(`/staff/sales?from=${dayOf(-1)}&to=${dayOf(2)}`),
      '/staff/price-rules': await staff.get('/staff/price-rules'),
      '/staff/price-rules/{rule_id}': await staff.get(`/staff/price-rules/${id}`),
      '/staff/price-rules/which': await staff.get(`/staff/price-rules/which?${which}`),
      '/staff/price-rules/preview': await staff.post('/staff/price-rules/preview', {
        add: { markup_percent: '1' },
      }),
    };

    const resolve = (schema: Json | undefined): { readonly [name: string]: Json } => {
      if (!isObject(schema)) return {};
      const { $ref: reference, anyOf, allOf } = schema;
      const choices = [anyOf ?? allOf ?? []].flat();
      const [first] = choices.filter((choice) => !isObject(choice) || choice['type'] !== 'null');
      if (first !== undefined) return resolve(first);
      if (typeof reference !== 'string') return schema;
      const name = reference.replace('#/components/schemas/', '');
      return description.components.schemas[name] ?? {};
    };
    const named = [...JSON.stringify(description).matchAll(/"#\/components\/schemas\/([^"]*)"/g)];
    const schemas = Object.keys(description.components.schemas);
    expect(schemas).toEqual(expect.arrayContaining(named.map(([, name]) => name)));
    const compared = new Set<string>();
    const compare = (response: unknown, schema: Json | undefined, place: string): void => {
      const { items, properties } = resolve(schema);
      if (Array.isArray(response)) {
        for (const item of response) compare(item, items, `${place}[]`);
      } else if (typeof response === 'object' && response !== null && isObject(properties)) {
        expect([place, Object.keys(response).sort()]).toEqual([place, Object.keys(properties).sort()]);
        compared.add(place);
        for (const [name, value] of Object.entries(response)) {
          compare(value, properties[name], `${place}.${name}`);
        }
      }
    };
    for (const [path, { status, body }] of Object.entries(responses)) {
      expect([path, status]).toEqual([path, 200]);
      const operation = Object.values(description.paths[path] ?? {}).find((one) => one.responses['200']);
      compare(body, operation?.responses['200']?.content?.['application/json']?.schema, path);
    }
    expect([...compared]).toEqual(
      expect.arrayContaining([
        '/staff/status.provider_balance',
        '/staff/status.catalog[]',
        '/staff/status.jobs[]',
        '/staff/status.replicas[].breakers[]',
        '/staff/status.replicas[].waiting_calls',
        '/staff/sales.total',
        '/staff/sales.items[]',
        '/staff/price-rules.items[]',
        '/staff/price-rules/which.rule',
        '/staff/price-rules/preview.offers[].before',
      ]),
    );
  });

  it('has a page of its own', () =>
    expectPage(`${service.baseUrl}/staff/docs`, 'Proxy Rental Service: staff'));
});
