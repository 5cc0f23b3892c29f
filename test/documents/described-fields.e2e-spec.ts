import Ajv2020 from 'ajv/dist/2020';
import { ALL_SCOPES } from '../../src/auth';
import {
  type Description,
  isObject,
  type Json,
  operationsOf,
  type Parameter,
  readDescription,
} from '../support/description';
import { forAllTests } from '../support/fixtures';
import { sendRaw } from '../support/raw-http';
import { createStaff } from '../support/staff';
import { sharedTestService } from '../support/test-service';

/** Each body has an unknown field, so that no request changes anything. */
const VALUES: readonly Json[] = [null, true, 0, 25.08, 'text', '0', {}];

const KNOWN = [
  // The specified routes read numbers and words as FastAPI does.
  /^GET \/proxies(\/export)? query active(_only)? = .* taken$/,
  /^POST \/proxies\/(buy|\{proxy_id\}\/prolong) body (period|count) = true taken$/,
  // No pattern describes this form.
  / (query|body) template = .* refused$/,
  /webhooks(\/\{webhook_id\})? body url = ".*" refused$/,
  /^GET \/events query type = .* refused$/,
];

interface Field {
  readonly place: 'query' | 'body';
  readonly name: string;
  readonly takes: (value: Json) => boolean;
}

type Described = ReturnType<typeof operationsOf>[number];

describe.each([
  ['customers', '/openapi.json'],
  ['staff', '/staff/openapi.json'],
])('A field of a request of %s', (who, path) => {
  let token: string;
  /** None of the values is a time. */
  let ajv: Ajv2020;
  const service = forAllTests(sharedTestService);
  const description = forAllTests(() => readDescription(service.baseUrl + path));
  beforeAll(async () => {
    const user = await service.createUser({ scopes: ALL_SCOPES });
    ajv = new Ajv2020({ strict: false, formats: { date: () => false, 'date-time': () => false } });
    const { components } = JSON.parse(JSON.stringify(description).replaceAll('"#/', '"api#/')) as Description;
    ajv.addSchema({ $id: 'api', components });
    token = who === 'staff' ? (await createStaff(service)).token : user.token;
  });

  function fieldsOf({ operation }: Described): Field[] {
    const compile = (schema: Json) => {
      const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')) as object);
      return (value: Json): boolean => validate(value);
    };
    const { schema } = operation.requestBody?.content['application/json'] ?? {};
    const name =
      isObject(schema) && typeof schema['$ref'] === 'string' ? schema['$ref'].split('/').at(-1) : '';
    const { properties } = description.components.schemas[name ?? ''] ?? {};
    const inBody = Object.entries(isObject(properties) ? properties : {});
    const inQuery = (operation.parameters ?? []).filter((parameter: Parameter) => parameter.in === 'query');
    return [
      ...inBody.map(([field, of]) => ({ place: 'body', name: field, takes: compile(of) }) as const),
      ...inQuery.map((parameter) => {
        const takes = compile(parameter.schema);
        return {
          place: 'query',
          name: parameter.name,
          takes: (text: Json) => readings(text).some(takes),
        } as const;
      }),
    ];
  }

  async function refused({ method, path: route }: Described, fields: readonly Field[], value: Json) {
    const of = (place: Field['place']) => fields.filter((field) => field.place === place);
    const query = new URLSearchParams(
      [...of('query'), { name: 'unknown' }].map(({ name }): [string, string] => [name, textOf(value)]),
    );
    const body = Object.fromEntries([...of('body'), { name: 'unknown' }].map(({ name }) => [name, value]));
    const response = await sendRaw(service.baseUrl, {
      method,
      path: `${route.replaceAll(/\{\w+\}/g, '1')}?${String(query)}`,
      token,
      headers: { 'content-type': 'application/json' },
      ...(method !== 'GET' && { body: JSON.stringify(body) }),
    });
    if (response.status !== 422) return [];
    const { detail } = response.json() as {
      readonly detail: readonly { readonly type: string; readonly loc: readonly string[] }[];
    };
    expect(detail.map(({ type }) => type)).not.toContain('too_many_errors');
    return detail
      .filter(({ type, loc }) => type !== 'missing' || loc.length > 2)
      .map(({ loc: [place, name] }) => `${place} ${name}`);
  }

  it('takes what its description takes, and null only where that says so', async () => {
    const wrong: string[] = [];
    let count = 0;
    await Promise.all(
      operationsOf(description).map(async (described) => {
        const fields = fieldsOf(described);
        for (const value of fields.length > 0 ? VALUES : []) {
          // oxlint-disable-next-line no-await-in-loop
          const found = await refused(described, fields, value);
          for (const { place, name, takes } of fields) {
            count += 1;
            const isTaken = !found.includes(`${place} ${name}`);
            if (isTaken === takes(value)) continue;
            const what = `${described.name} ${place} ${name} = ${JSON.stringify(value)}`;
            wrong.push(`${what} ${isTaken ? 'taken' : 'refused'}`);
          }
        }
      }),
    );
    expect(wrong.filter((one) => !KNOWN.some((known) => known.test(one)))).toEqual([]);
    expect(count).toBeGreaterThan(100);
  });
});

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

function readings(value: Json): Json[] {
  const text = textOf(value);
  return /^(?:true|false|-?\d+(?:\.\d+)?)$/.test(text) ? [text, JSON.parse(text) as Json] : [text];
}
