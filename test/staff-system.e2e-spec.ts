import { PriceRulesService } from '../src/pricing';
import { eventually } from './support/built-service';
import { createStaff, type Staff } from './support/staff';
import { startTestService, type TestService, type TestUser } from './support/test-service';

interface Schema {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}
interface Description {
  readonly paths: Record<
    string,
    Record<string, { responses: Record<string, { content?: Record<string, { schema: Schema }> }> }>
  >;
  readonly components: { readonly schemas: Record<string, Schema> };
}
interface Breaker {
  readonly name: string;
  readonly state: string;
  readonly since: string;
}
interface StatusAnswer {
  readonly provider_balance: { readonly amount: string } | null;
  readonly spent_24_hours: string;
  readonly runway_hours: number | null;
  readonly orders_in_review: number;
  readonly catalog: readonly { readonly kind: string }[];
  readonly replicas: readonly {
    readonly breakers: readonly Breaker[];
    readonly waiting_calls: object;
    readonly waiting_orders: number;
  }[];
}

let service: TestService;
let staff: Staff;
let user: TestUser;

// The system is that of all users, and a replica reports every 100 ms.
beforeAll(async () => {
  service = await startTestService({ jobIntervalsMs: { 'replica-report': 100 } });
  staff = await createStaff(service, ['staff:system']);
  user = await service.createUser();
  const { data } = await user.buy({ count: 2, version: '6', proxy_type: 'http' });
  expect(data?.proxies).toHaveLength(2);
});
afterAll(() => service.close());

const readStatus = async (): Promise<StatusAnswer> => (await staff.get<StatusAnswer>('/staff/status')).body;

it('shows staff the balance, its runway, the catalog, and breakers and queues of each replica', async () => {
  await user.api.GET('/countries', { params: { query: {} } });
  // The report of a replica may be from the time when the order waited.
  const status = await eventually(async () => {
    const one = await readStatus();
    return one.provider_balance && one.replicas[0]?.waiting_orders === 0 && one;
  });
  expect(status).toMatchObject({
    spent_24_hours: '41.80',
    runway_hours: expect.any(Number),
    orders_in_review: 0,
    catalog: expect.arrayContaining([expect.objectContaining({ kind: 'countries' })]),
    replicas: [
      {
        breakers: ['money', 'reads', 'funds'].map((name) => ({
          name,
          state: 'closed',
          since: expect.any(String),
        })),
        waiting_calls: { order: 0, confirmation: 0, price: 0, rest: 0, exact: 0 },
        waiting_orders: 0,
      },
    ],
  });
});

it('answers with exactly the fields that the description names', async () => {
  const description = (await (await fetch(`${service.baseUrl}/staff/openapi.json`)).json()) as Description;
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
  const compare = (answer: unknown, schema: Schema, path: string): void => {
    const { items, properties } = resolve(schema);
    if (Array.isArray(answer)) {
      for (const item of answer) compare(item, items ?? {}, `${path}[]`);
    } else if (typeof answer === 'object' && answer !== null && properties) {
      expect([path, Object.keys(answer).sort()]).toEqual([path, Object.keys(properties).sort()]);
      compared.add(path);
      for (const [name, value] of Object.entries(answer)) {
        compare(value, properties[name] ?? {}, `${path}.${name}`);
      }
    }
  };
  await user.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
  await eventually(async () => (await readStatus()).replicas.length > 0);
  await service.runJob('sales-days');
  const { id } = await service.app
    .get(PriceRulesService)
    .add({ userId: user.id, markupPercent: '1' }, { by: 'test', reason: 'test' });
  const dayOf = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const answers = {
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
  for (const [path, { status, body }] of Object.entries(answers)) {
    expect([path, status]).toEqual([path, 200]);
    const operation = Object.values(description.paths[path] ?? {}).find(({ responses }) => responses['200']);
    compare(body, operation?.responses['200']?.content?.['application/json']?.schema ?? {}, path);
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

it('shows an open breaker, and since when it is open', async () => {
  const failing = await startTestService({
    tuning: { breakerFailures: 2, breakerProbeMs: 600_000 },
    jobIntervalsMs: { 'replica-report': 100 },
  });
  const before = new Date().toISOString();
  await failing.control.addFault({ method: 'buy', kind: 'http-status', status: 500, times: null });
  const { api } = await failing.createUser();
  for (let times = 0; times < 3; times += 1) {
    await api.POST('/proxies/buy', {
      body: { country: 'ru', period: 30, count: 1, version: '6', proxy_type: 'http' },
    });
  }
  const its = await createStaff(failing, ['staff:system']);
  const breaker = await eventually(async () => {
    const [replica] = (await its.get<StatusAnswer>('/staff/status')).body.replicas;
    return replica?.breakers.find(({ name, state }) => name === 'money' && state === 'open');
  });
  expect(breaker.since >= before).toBe(true);
  await failing.close();
});

it('requires the scope for the system', async () => {
  const other = await createStaff(service, ['staff:users', 'staff:orders', 'staff:balance']);
  for (const path of ['/staff/status', '/staff/sales?from=2026-01-01&to=2026-01-02', '/staff/price-rules']) {
    expect((await other.get(path)).status).toBe(403);
  }
});
