import { ALL_SCOPES, ALL_STAFF_SCOPES } from '../../src/auth';
import { DocsBrowser } from '../support/browser';
import { isObject, operationsOf, type Parameter, readDescription } from '../support/description';
import { forAllTests } from '../support/fixtures';
import { describeWith, findChromium } from '../support/programs';
import { createStaff } from '../support/staff';
import { startTestService } from '../support/test-service';

const chromium = findChromium() ?? '';

/** The value of a field of a search: text that its description allows. */
function searchedFor({ name, schema }: Parameter): string | number {
  const { anyOf } = isObject(schema) ? schema : {};
  const first = Array.isArray(anyOf) ? anyOf[0] : schema;
  const { type, format, pattern, enum: words } = isObject(first) ? first : {};
  if (name === 'target') return 'user:1';
  if (name === 'token_id') return 1;
  if (name === 'country') return 'ru';
  if (name === 'cursor' && type === 'string') return '2026-01-01';
  if (type === 'integer') return 10;
  if (type === 'boolean') return 'true';
  if (format === 'date') return name === 'from' ? '2026-01-01' : '2026-02-01';
  if (format === 'date-time') return name === 'from' ? '2026-01-01T00:00:00Z' : '2027-01-01T00:00:00Z';
  if (Array.isArray(words) && typeof words[0] === 'string') return words[0];
  return (typeof pattern === 'string' && /^\^\(([\w-]+)[|)]/.exec(pattern)?.[1]) || 'boris';
}

/** The forms by which staff move money or give access, all with an id in their path. */
const KEYED: readonly string[] = [
  '/staff/users/{user_id}/credit',
  '/staff/users/{user_id}/debit',
  '/staff/orders/{order_id}/refund',
];
const WRITES = [...KEYED, '/staff/users/{user_id}/tokens', '/staff/tokens/{token_id}/revoke'];

describeWith(chromium === '' ? ['chromium'] : [], 'A form of staff in Swagger UI', () => {
  jest.setTimeout(60_000);
  let userId: number;

  const service = forAllTests(startTestService);
  const docs = forAllTests(() => DocsBrowser.open(chromium, service.baseUrl));
  beforeAll(async () => {
    await docs.visit('/staff/docs');
    await docs.authorize((await createStaff(service, [...ALL_SCOPES, ...ALL_STAFF_SCOPES])).token);
    userId = (await service.createUser()).id;
  });
  afterEach(() => {
    expect(docs.complaints).toEqual([]);
  });

  const countChanges = async () => ({
    entries: await count('ledger_entries'),
    tokens: await count('api_tokens'),
    actions: await count('audit_log'),
  });
  const count = async (table: string): Promise<unknown> =>
    (await service.dataSource.query<{ n: number }[]>(`SELECT count(*)::int AS n FROM ${table}`))[0]?.n;

  it('sends every field of every search', async () => {
    const description = await readDescription(`${service.baseUrl}/staff/openapi.json`);
    const searches = operationsOf(description).filter(
      ({ method, path, operation }) =>
        method === 'GET' &&
        !/[/](statement|file)$/.test(path) &&
        operation.parameters?.some((field) => field.in === 'query'),
    );
    expect(searches.length).toBeGreaterThan(6);
    for (const { name, path, operation } of searches) {
      const fields = (operation.parameters ?? []).map((field) => [field.name, searchedFor(field)]);
      const { status } = await docs.execute('GET', path, {
        parameters: {
          ...Object.fromEntries(fields),
          ...(fields.some(([field]) => field === 'user_id') && { user_id: userId }),
        },
      });
      expect([name, status]).toEqual([name, '200']);
    }
  }, 240_000);

  it.each(WRITES)(
    'sends nothing in haste, and what it sends of an empty form is refused: %s',
    async (path) => {
      const before = await countChanges();
      expect(await docs.pressAtOnce('POST', path)).toBe('not sent');
      const parameters = {
        ...Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, userId])),
        ...(KEYED.includes(path) && { 'Idempotency-Key': `haste ${path}`.replaceAll(/\W/g, '-') }),
      };
      expect((await docs.execute('POST', path, { parameters })).status).toBe('422');
      expect(docs.complaints.splice(0)).toEqual([expect.stringContaining('status of 422')]);
      expect(await countChanges()).toEqual(before);
    },
  );
});
