import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020';
import openapiTypes, { astToString } from 'openapi-typescript';
import { format, type FormatConfig } from 'oxfmt';
import {
  type Description,
  examplesOf,
  expectPage,
  isObject,
  type Json,
  operationsOf,
  readDescription,
} from '../support/description';
import { ENDPOINTS } from '../support/endpoints';
import { forAllTests } from '../support/fixtures';
import { expectGenerated } from '../support/generated';
import { captureLog } from '../support/log-capture';
import { sendRaw } from '../support/raw-http';
import { DESCRIBES_DEPOSITS, sharedTestService, startTestService } from '../support/test-service';

const FILES: readonly [path: string, mediaType: string][] = [
  ['/proxies/lists/json', 'application/json'],
  ['/proxies/lists/txt', 'text/plain'],
  ['/proxies/lists/url', 'text/plain'],
  ['/proxies/lists/csv', 'text/csv'],
  ['/proxies/lists/curl', 'text/plain'],
  ['/proxies/lists/proxychains', 'text/plain'],
  ['/proxies/lists/playwright', 'application/json'],
  ['/proxies/lists/clash', 'application/yaml'],
  ['/proxies/lists/sing-box', 'application/json'],
  ['/proxies/lists/template', 'text/plain'],
];
const API_TYPES = join(__dirname, '../../clients/typescript/src/api-types.ts');
const manifest: { version: string; devDependencies: Record<string, string> } = JSON.parse(
  readFileSync(join(__dirname, '../../package.json'), 'utf8'),
);

const reference = JSON.parse(
  readFileSync(join(__dirname, '../fixtures/reference-openapi.json'), 'utf8'),
) as Description;

/** Named items are compared by name, in any position. */
const nameOf = (item: Json): string | undefined =>
  isObject(item) && typeof item['name'] === 'string' ? item['name'] : undefined;

function findDifferences(expected: Json, actual: Json | undefined, place = ''): string[] {
  if (actual === undefined) return [`${place} is missing`];
  if (isObject(expected) && isObject(actual)) {
    return Object.entries(expected).flatMap(([name, value]) =>
      findDifferences(value, actual[name], `${place}/${name.replaceAll('/', '~1')}`),
    );
  }
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const isNamed = expected.every((item) => nameOf(item) !== undefined);
    if (isNamed) {
      return expected.flatMap((item) =>
        findDifferences(
          item,
          actual.find((other) => nameOf(other) === nameOf(item)),
          `${place}/${nameOf(item)}`,
        ),
      );
    }
    const lengths = expected.length === actual.length ? [] : [`${place} has ${actual.length} items`];
    return [...lengths, ...expected.flatMap((item, n) => findDifferences(item, actual[n], `${place}/${n}`))];
  }
  return JSON.stringify(expected) === JSON.stringify(actual) ? [] : [`${place} is ${JSON.stringify(actual)}`];
}

const service = forAllTests(sharedTestService);
/** Every optional part is on: the client knows deposits even if a service accepts none. */
const complete = forAllTests(async () => {
  const log = captureLog();
  const environment = {
    ...DESCRIBES_DEPOSITS,
    ECHO_URL: 'http://127.0.0.1:9/echo',
    LOG_LEVEL: 'info',
    METRICS_PORT: '0',
    PX6_COMPATIBLE: 'on',
  };
  const started = await startTestService({ environment });
  for (const path of ['/openapi.json', '/staff/openapi.json']) await readDescription(started.baseUrl + path);
  log.stop();
  return Object.assign(started, { startLog: log.lines });
});
const user = forAllTests(() => service.createUser());

it('A start with every optional part, and its descriptions, log nothing above info', () => {
  expect(complete.startLog).toContainEqual(expect.stringContaining('"level":"log"'));
  expect(complete.startLog.filter((line) => !line.startsWith('{"level":"log"'))).toEqual([]);
});

describe('The description', () => {
  const description = forAllTests(() => readDescription(`${service.baseUrl}/openapi.json`));
  const operations = () => operationsOf(description);

  it('is served as JSON to anyone', async () => {
    const response = await fetch(`${service.baseUrl}/openapi.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get('Content-Type')).toBe('application/json; charset=utf-8');
    expect(await response.json()).toEqual(description);
  });

  it('is OpenAPI 3.1, of version 0.1.0 of the API', () => {
    expect(description.openapi).toMatch(/^3\.1\.\d+$/);
    expect(description.info).toMatchObject({ title: 'Proxy Rental Service', version: '0.1.0' });
  });

  it('has everything in the reference, except where it is more precise', () => {
    const { openapi: _, ...everything } = reference;
    const responseOfCount =
      '/paths/~1countries~1{country}~1count/get/responses/200/content/application~1json/schema';
    const responseOfOrder = 'post/responses/200/content/application~1json/schema';
    expect(findDifferences(everything as unknown as Json, description as unknown as Json)).toEqual([
      // The reference has an object of any integers, the specification a table of fields.
      `${responseOfCount}/type is missing`,
      `${responseOfCount}/additionalProperties is missing`,
      `${responseOfCount}/title is missing`,
      // A dry run returns another response.
      `/paths/~1proxies~1buy/${responseOfOrder}/$ref is missing`,
      `/paths/~1proxies~1{proxy_id}~1prolong/${responseOfOrder}/$ref is missing`,
    ]);
  });

  it('has the tables of the specification where the reference has less', () => {
    const { CountryStock, Health, UserInfo, ValidationError } = description.components.schemas;
    expect(CountryStock).toMatchObject({
      properties: {
        country: { type: 'string' },
        version: { type: 'string' },
        available: { type: 'integer' },
      },
      required: ['country', 'version', 'available'],
    });
    expect(Health).toMatchObject({ properties: { status: { type: 'string', default: 'ok' } } });
    expect(UserInfo).toMatchObject({ properties: { has_app: { type: 'boolean' } }, required: ['balance'] });
    expect(ValidationError).toMatchObject({ properties: { input: {}, ctx: { type: 'object' } } });
    expect(description.paths['/countries/{country}/count']?.['get']?.responses['200']?.content).toEqual({
      'application/json': { schema: { $ref: '#/components/schemas/CountryStock' } },
    });
  });

  it('adds to the routes of the reference only what goes beyond the specification', () => {
    const FILTERS = ['country', 'version', 'active', 'label', 'tag', 'ends_before', 'order_id'];
    const named = ({ paths }: Description) =>
      Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).flatMap(([method, { parameters = [] }]) =>
          ['', ...parameters.map(({ name, in: place }) => ` ${place} ${name}`)].map(
            (suffix) => `${method} ${path}${suffix}`,
          ),
        ),
      );
    const known = new Set(named(reference));
    const isOfReference = (name: string) => known.has(name.split(' ', 2).join(' '));
    expect(named(description).filter((name) => isOfReference(name) && !known.has(name))).toEqual([
      ...[...FILTERS, 'proxy_type', 'limit', 'cursor'].map((name) => `get /proxies query ${name}`),
      'get /proxies header If-None-Match',
      ...FILTERS.map((name) => `get /proxies/export query ${name}`),
      'get /proxies/export header If-None-Match',
      'post /proxies/buy header Idempotency-Key',
      'post /proxies/{proxy_id}/prolong header Idempotency-Key',
    ]);
  });

  it('requires a token with the scope of each endpoint, and none where there can be none', () => {
    expect(description.components.securitySchemes).toEqual({
      bearer: expect.objectContaining({ type: 'http', scheme: 'bearer' }),
    });
    expect(JSON.stringify(description.components.securitySchemes)).not.toContain('JWT');
    for (const { name, operation } of operations()) {
      const scope = ENDPOINTS.find((endpoint) => endpoint.name === name)?.scope;
      expect([name, operation.security ?? []]).toEqual([name, scope ? [{ bearer: [scope] }] : []]);
    }
    expect(
      operations()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(ENDPOINTS.map(({ name }) => name).sort());
  });

  it('lists every error of each endpoint, and those that any endpoint may return', () => {
    const EVERYWHERE = ['400', '405', '408', '431'];
    const WITH_TOKEN = [...EVERYWHERE, '401', '403', '429', '503'];
    for (const { name, operation } of operations()) {
      const { scope, errors = [], isSpecified } = ENDPOINTS.find((endpoint) => endpoint.name === name) ?? {};
      const encoded = errors.includes('413') && !isSpecified ? ['415'] : [];
      const expected = [...(scope ? WITH_TOKEN : EVERYWHERE), ...errors, ...encoded];
      const listed = Object.keys(operation.responses).filter((status) => Number(status) >= 400);
      expect([name, listed]).toEqual([name, expected.sort()]);
    }
  });

  it('has an example of every error', () => {
    const errors = operations().flatMap(({ name, operation }) =>
      Object.entries(operation.responses)
        .filter(([status]) => Number(status) >= 400)
        .map(([status, { content }]) => ({
          name: `${name} ${status}`,
          status,
          media: content?.['application/json'],
        })),
    );
    for (const { name, status, media } of errors) {
      const details = examplesOf(media).map((example) => (isObject(example) ? example['detail'] : undefined));
      expect([name, details.length]).not.toEqual([name, 0]);
      const isDetail = (detail: Json | undefined) =>
        status === '422' ? Array.isArray(detail) : typeof detail === 'string';
      expect([name, details.every(isDetail)]).toEqual([name, true]);
    }
    expect(errors.length).toBeGreaterThan(30);
  });

  it('has a path with one media type for each format, and those of the specification for the export', () => {
    const responseOf = (path: string) => description.paths[path]?.['get']?.responses['200'];
    const types = (path: string) => Object.keys(responseOf(path)?.content ?? {});
    const described = Object.keys(description.paths).filter((path) => path.startsWith('/proxies/lists/'));
    expect(described.sort()).toEqual(FILES.map(([path]) => path).sort());
    for (const [path, type] of FILES) expect([path, types(path)]).toEqual([path, [type]]);
    expect(types('/proxies/export')).toEqual(['application/json', 'text/plain']);
    expect(types('/l/{secret}')).toEqual(['*/*']);
    for (const path of ['/proxies/export', '/l/{secret}', ...FILES.map(([file]) => file)]) {
      expect([path, responseOf(path)?.headers]).toHaveProperty('1.Content-Disposition');
    }
  });

  it('adds only the listed fields to the schemas of the specification', () => {
    const fieldsOf = ({ components: { schemas } }: Description, schema: string) =>
      Object.keys(schemas[schema]?.['properties'] ?? {});
    const added = Object.keys(reference.components.schemas).flatMap((schema) => {
      const known = new Set(fieldsOf(reference, schema));
      const fields = fieldsOf(description, schema).filter((field) => !known.has(field));
      return fields.map((field) => `${schema} ${field}`);
    });
    expect(added.sort()).toEqual([
      'ProlongRequest dry_run',
      'ProlongRequest max_price',
      'PurchaseRequest allow_partial',
      'PurchaseRequest dry_run',
      'PurchaseRequest max_price',
      // The specification's table has these three; the reference does not.
      'UserInfo has_app',
      'ValidationError ctx',
      'ValidationError input',
    ]);
  });

  it('describes exactly the fields of the responses', async () => {
    await user.buy({ period: 3 });
    const { data: proxies } = await user.api.GET('/proxies');
    const [proxy] = proxies ?? [];
    const ping = user.api.GET('/proxies/{proxy_id}/ping', {
      params: { path: { proxy_id: proxy?.id ?? '' } },
    });
    const { data: link } = await user.api.POST('/links', { body: { format: 'txt' } });
    const { data: links } = await user.api.GET('/links');
    const { data: rule } = await user.api.POST('/renewals/rules', {
      body: { target: 'all', period: 3, hours_before: 24 },
    });
    const { data: forecast } = await user.api.GET('/renewals/forecast');
    const responses: Record<string, object | undefined> = {
      CreatedLink: link,
      LinkOut: links?.items[0],
      Health: (await user.api.GET('/health')).data,
      UserInfo: (await user.api.GET('/me')).data,
      CountryStock: (
        await user.api.GET('/countries/{country}/count', { params: { path: { country: 'ru' } } })
      ).data,
      QuoteResponse: (await user.api.GET('/price', { params: { query: { count: 1, period: 3 } } })).data,
      PingResponse: (await ping).data,
      ProxyOut: proxy,
      RenewalRuleOut: rule,
      ForecastOut: forecast,
      ForecastItem: forecast?.items[0],
      ForecastDay: forecast?.by_day[0],
      BudgetOut: (await user.api.GET('/renewals/budget')).data,
    };
    for (const [schema, response] of Object.entries(responses)) {
      const { properties } = description.components.schemas[schema] ?? {};
      expect([schema, Object.keys(response ?? {}).sort()]).toEqual([
        schema,
        Object.keys(properties ?? {}).sort(),
      ]);
    }
  });

  it('has what generators and testers need to run without editing', () => {
    expect(description).toMatchObject({ servers: [{ url: '/' }], info: { license: { name: 'MIT' } } });
    expect(description.paths['/health']?.['get']?.security).toEqual([]);
    const unexemplified = operations().flatMap(({ name, operation: { parameters = [] } }) =>
      parameters
        .filter(({ required, example }) => required && example === undefined)
        .map((parameter) => `${name} ${parameter.name}`),
    );
    expect(unexemplified).toEqual([]);
    const { PurchaseRequest, ProlongRequest } = description.components.schemas;
    expect(PurchaseRequest).toMatchObject({
      properties: { country: { example: 'ru' }, period: { example: 30 }, count: { example: 1 } },
    });
    expect(ProlongRequest).toMatchObject({ properties: { period: { example: 30 } } });
  });

  it('has what generated clients read as it is meant', async () => {
    const both = [description, await readDescription(`${service.baseUrl}/staff/openapi.json`)];
    const unclear = both.flatMap(operationsOf).flatMap(({ name, operation }) => [
      ...(operation.parameters ?? [])
        .filter(
          ({ in: place, schema }) => place === 'path' && isObject(schema) && schema['type'] === 'number',
        )
        .map((parameter) => `${name} takes a fraction as its ${parameter.name}`),
      ...Object.entries(operation.responses)
        .filter(([, { content = {} }]) => Object.keys(content).length > 1)
        .map(([status]) => `${name} ${status} has several media types`),
      ...(/^[a-z][a-zA-Z]+$|^[a-z-]+\.[a-z-]+$/.test(operation.operationId ?? '') ||
      operation.operationId ===
        reference.paths[name.split(' ')[1] ?? '']?.[name.split(' ')[0]?.toLowerCase() ?? '']?.operationId
        ? []
        : [`${name} is called ${operation.operationId}`]),
    ]);
    expect(unclear).toEqual(['GET /proxies/export 200 has several media types']);
    expect(
      JSON.stringify(both).match(/"pattern":"[^"]*"[^{}]*"enum":|"enum":\[[^\]]*\][^{}]*"pattern":/g),
    ).toBeNull();
    const ids = both.map((each) => operationsOf(each).map(({ operation }) => operation.operationId));
    for (const each of ids) expect(each).toHaveLength(new Set(each).size);
  });

  it('describes deliveries to webhooks, whose events may have types that come later', async () => {
    const { webhooks } = description as unknown as { webhooks: Json };
    const schema = { $ref: '#/components/schemas/EventOut' };
    expect(webhooks).toMatchObject({
      event: { post: { requestBody: { content: { 'application/json': { schema } } } } },
    });
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const validate = ajv.compile(description.components.schemas['EventOut'] ?? {});
    for (const type of ['order.completed', 'test', 'proxy.of-a-later-version']) {
      expect([type, validate({ id: 'evt_1', type, at: '2026-11-22T12:00:01Z', data: {} })]).toEqual([
        type,
        true,
      ]);
    }
  });

  it('generates the client types that the tests use', async () => {
    // A field with a default is optional in a request.
    const described = await readDescription(`${complete.baseUrl}/openapi.json`);
    const types = await openapiTypes(JSON.stringify(described), { defaultNonNullable: false });
    const generator = `openapi-typescript ${manifest.devDependencies['openapi-typescript']}`;
    const header =
      `// Generated by ${generator} from /openapi.json of this commit.\n` +
      '// Not to be edited: `npm run generate:client`.\n\n';
    const style = JSON.parse(readFileSync(join(__dirname, '../../.oxfmtrc.json'), 'utf8')) as FormatConfig;
    const { code: formatted } = await format(API_TYPES, header + astToString(types), style);
    expectGenerated(API_TYPES, 'UPDATE_API_TYPES', formatted);
  });
});

describe.each(['', '/staff'])('The description of OpenAPI 3.0: %s/openapi-3.0.json', (prefix) => {
  const described = forAllTests(() => readDescription(`${service.baseUrl}${prefix}/openapi.json`));
  const description = forAllTests(() => readDescription(`${service.baseUrl}${prefix}/openapi-3.0.json`));

  const partsOf = (value: Json | undefined): { [name: string]: Json }[] => {
    if (Array.isArray(value)) return value.flatMap(partsOf);
    if (!isObject(value)) return [];
    const { example: _, default: __, ...rest } = value;
    return [value, ...Object.values(rest).flatMap(partsOf)];
  };
  const schemasOf = ({ paths, components: { responses, schemas } }: Description) =>
    partsOf(JSON.parse(JSON.stringify([paths, responses, schemas])) as Json);

  it('has the operations and the schemas of 3.1, and no webhooks', () => {
    expect(description).toMatchObject({ openapi: '3.0.3', info: { version: described.info.version } });
    expect(description).not.toHaveProperty('webhooks');
    const contentsOf = (one: Description) => [
      operationsOf(one).map(({ name, operation: { operationId, responses, parameters } }) => [
        name,
        operationId,
        Object.keys(responses),
        parameters?.map((parameter) => parameter.name),
      ]),
      Object.entries(one.components.schemas).map(([name, { properties = {}, required = [] }]) => [
        name,
        Object.keys(properties as object),
        required,
      ]),
    ];
    expect(contentsOf(description)).toEqual(contentsOf(described));
  });

  it('loads with kin-openapi: types are no lists, exclusive bounds are flags, patterns are RE2', () => {
    const newer = schemasOf(description).filter(
      ({ type, exclusiveMinimum, exclusiveMaximum, examples, pattern, const: constant }) =>
        [exclusiveMinimum, exclusiveMaximum].some((bound) => typeof bound === 'number') ||
        [type, examples].some(Array.isArray) ||
        (typeof pattern === 'string' && /\(\?[=!<]/.test(pattern)) ||
        constant !== undefined,
    );
    expect(newer).toEqual([]);
    expect(schemasOf(description).filter((part) => part['exclusiveMinimum'] === true).length).toBeGreaterThan(
      20,
    );
  });

  it('becomes typed fields with NSwag: null is a flag next to a type, or to a lone reference', () => {
    const flagged = schemasOf(description).filter((part) => part['nullable'] === true);
    const isReference = ({ allOf, type }: { [name: string]: Json }) =>
      type === undefined &&
      Array.isArray(allOf) &&
      allOf.length === 1 &&
      JSON.stringify(allOf).includes('$ref');
    expect(flagged.filter((part) => typeof part['type'] !== 'string' && !isReference(part))).toEqual([]);
    expect(schemasOf(description).filter(({ type }) => type === 'null')).toEqual([]);
    const nullable = ({ components: { schemas } }: Description) =>
      Object.entries(schemas).flatMap(([name, { properties = {} }]) =>
        Object.entries(properties as { [field: string]: Json })
          .filter(([, field]) => /"type":"null"|"nullable":true/.test(JSON.stringify(field)))
          .map(([field]) => `${name}.${field}`),
      );
    expect(nullable(description)).toEqual(nullable(described));
    expect(flagged.length).toBeGreaterThan(100);
  });
});

describe('Swagger UI', () => {
  it('is a page at /docs with everything it loads', () =>
    expectPage(`${service.baseUrl}/docs`, 'Proxy Rental Service'));
});

describe('The address of the service', () => {
  it('says what the service is and where its documentation is', async () => {
    const response = await fetch(`${service.baseUrl}/`);
    const { name, version, ...links } = (await response.json()) as Record<string, string>;
    expect({ name, version }).toEqual({ name: 'Proxy Rental Service', version: manifest.version });
    expect(Object.keys(links)).toEqual(['docs', 'openapi', 'staff_docs', 'staff_openapi', 'health']);
    for (const link of Object.values(links)) {
      expect([link, (await fetch(service.baseUrl + link)).status]).toEqual([link, 200]);
    }
  });
});

describe('A document', () => {
  it.each([
    ['/openapi.json', 'application/json'],
    ['/openapi.yaml', 'text/yaml'],
    ['/openapi-3.0.json', 'application/json'],
    ['/staff/openapi-3.0.yaml', 'text/yaml'],
    ['/staff/docs/swagger-ui-init.js', 'text/javascript'],
  ])('is written once, compressed, and validated by its ETag: %s', async (path, type) => {
    const get = (headers: Record<string, string>) => sendRaw(service.baseUrl, { path, headers });
    const whole = await get({});
    expect(whole.headers).toMatchObject({ vary: 'Accept-Encoding', etag: expect.stringMatching(/^W\/"/) });
    expect(whole.headers['content-type']).toMatch(new RegExp(`^(?:${type}|application/javascript)`));
    const zipped = await fetch(service.baseUrl + path, { headers: { 'Accept-Encoding': 'gzip' } });
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(Number(zipped.headers.get('content-length'))).toBeLessThan(whole.text.length / 4);
    expect(await zipped.text()).toBe(whole.text);
    const known = await get({ 'If-None-Match': whole.headers.etag ?? '' });
    expect([known.status, known.text]).toEqual([304, '']);
  });
});

describe('Every other response', () => {
  it.each([
    '/',
    '/health',
    '/openapi.json',
    '/openapi.yaml',
    '/openapi-3.0.json',
    '/me',
    '/proxies/buy',
    '/staff/users',
    '/nowhere',
  ])('is no page, and may load nothing: %s', async (path) => {
    const { headers } = await fetch(service.baseUrl + path);
    expect(headers.get('Content-Security-Policy')).toBe(
      "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'",
    );
  });
});

describe('The guide docs/api.md', () => {
  const document = readFileSync(join(__dirname, '../../docs/api.md'), 'utf8');
  const routesIn = (text: string) =>
    [...text.matchAll(/`((?:[A-Z]+ )?\/[^`\s]*)`/g)].map(([, route = '']) => route);

  it('names the specified routes, which ignore unknown fields', () => {
    const paragraph = /Ten \*\*specified routes\*\*([^]*?)All other/.exec(document)?.[1] ?? '';
    expect(routesIn(paragraph).toSorted()).toEqual(
      Object.entries(reference.paths)
        .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
        .toSorted(),
    );
  });
});

/** The tour makes a deposit. */
const DOCUMENTS = ['README.md', 'docs/api.md', 'docs/events.md', 'docs/renewals.md'];

it('The bodies of the commands in the documents are as described', async () => {
  const description = await readDescription(`${complete.baseUrl}/openapi.json`);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ ...description, $id: 'api' });
  const bodies = DOCUMENTS.flatMap((file) => {
    const lines = readFileSync(join(__dirname, '..', '..', file), 'utf8')
      .replaceAll('\\\n', ' ')
      .split('\n');
    return lines.flatMap((line) => {
      const [, path = '', body = ''] = /"\$URL(\/[^"?]*)".* -d '(\{.*\})'/.exec(line) ?? [];
      const method = (/ -X (\w+)/.exec(line)?.[1] ?? 'POST').toLowerCase();
      return body === '' ? [] : [{ method, path: path.replace(/\d+/, '{proxy_id}'), body }];
    });
  });
  const wrong = bodies.filter(({ method, path, body }) => {
    const { schema } = description.paths[path]?.[method]?.requestBody?.content['application/json'] ?? {};
    const $ref = isObject(schema) && typeof schema['$ref'] === 'string' ? schema['$ref'] : '#/none';
    return !ajv.validate({ $ref: `api${$ref}` }, JSON.parse(body));
  });
  expect(wrong).toEqual([]);
  expect(bodies.length).toBeGreaterThan(8);
});
