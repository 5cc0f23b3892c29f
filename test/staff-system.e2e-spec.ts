import { PriceRulesService } from '../src/pricing';
import type { StatusOut } from '../src/status';
import { eventually } from './support/built-service';
import { readDescription } from './support/description';
import { forAllTests } from './support/fixtures';
import { createStaff } from './support/staff';
import { startTestService } from './support/test-service';

interface Schema {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

// The system is that of all users, and a replica reports every 100 ms.
const service = forAllTests(() => startTestService({ jobIntervalsMs: { 'replica-report': 100 } }));
const staff = forAllTests(() => createStaff(service, ['staff:system']));
const user = forAllTests(() => service.createUser());
beforeAll(async () => {
  const { data } = await user.buy({ count: 2, version: '6', proxy_type: 'http' });
  expect(data?.proxies).toHaveLength(2);
});

it('returns exactly the fields that the description names', async () => {
  const description = await readDescription(`${service.baseUrl}/staff/openapi.json`);
  const named = [...JSON.stringify(description).matchAll(/"#\/components\/schemas\/([^"]*)"/g)].map(
    ([, name]) => name,
  );
  expect(Object.keys(description.components.schemas)).toEqual(expect.arrayContaining([...new Set(named)]));
  const resolve = (schema: Schema): Schema => {
    const [first] = (schema.anyOf ?? schema.allOf ?? []).filter(({ type }) => type !== 'null');
    if (first) return resolve(first);
    const name = schema.$ref?.split('/').at(-1);
    return name === undefined ? schema : (description.components.schemas[name] ?? {});
  };
  const compared = new Set<string>();
  const compare = (response: unknown, schema: Schema, path: string): void => {
    const { items, properties } = resolve(schema);
    if (Array.isArray(response)) {
      for (const item of response) compare(item, items ?? {}, `${path}[]`);
    } else if (typeof response === 'object' && response !== null && properties) {
      expect([path, Object.keys(response).sort()]).toEqual([path, Object.keys(properties).sort()]);
      compared.add(path);
      for (const [name, value] of Object.entries(response)) {
        compare(value, properties[name] ?? {}, `${path}.${name}`);
      }
    }
  };
  await user.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
  await eventually(async () => {
    const { body } = await staff.get<Pick<StatusOut, 'replicas'>>('/staff/status');
    return body.replicas.length > 0;
  });
  await service.runJob('sales-days');
  const { id } = await service.app
    .get(PriceRulesService)
    .add({ userId: user.id, markupPercent: '1' }, { by: 'test', reason: 'test' });
  const dayOf = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const results = {
    '/staff/status': await staff.get('/staff/status'),
    '/staff/sales': await staff.get(`/staff/sales?from=${dayOf(-1)}&to=${dayOf(2)}`),
    '/staff/price-rules': await staff.get('/staff/price-rules'),
    '/staff/price-rules/{rule_id}': await staff.get(`/staff/price-rules/${id}`),
    '/staff/price-rules/which': await staff.get(
      `/staff/price-rules/which?period=30&user_id=${user.id}&at=2099-01-01T00:00:00Z`,
    ),
    '/staff/price-rules/preview': await staff.post('/staff/price-rules/preview', {
      add: { markup_percent: '1' },
    }),
  };
  for (const [path, { status, body }] of Object.entries(results)) {
    expect([path, status]).toEqual([path, 200]);
    const operation = Object.values(description.paths[path] ?? {}).find(({ responses }) => responses['200']);
    compare(body, (operation?.responses['200']?.content?.['application/json']?.schema ?? {}) as Schema, path);
  }
  for (const path of [
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
  ]) {
    expect([...compared]).toContain(path);
  }
});
