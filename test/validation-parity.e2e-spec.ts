import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sendRaw } from './support/raw-http';
import { sharedTestService, type TestService, type TestUser } from './support/test-service';

interface Item {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly ctx?: Readonly<Record<string, unknown>>;
}

interface RecordedCase {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly content_type?: string;
  readonly expect:
    | { readonly valid: true }
    | { readonly valid?: never; readonly status: number; readonly detail: readonly Item[] };
}

const cases = readFileSync(join(__dirname, 'fixtures/validation-cases.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as RecordedCase);

/** Each parser has its own words for where and why JSON is malformed. */
function loosen(item: Item): object {
  if (item.type !== 'json_invalid') return item;
  return { ...item, loc: [item.loc[0], typeof item.loc[1]], ctx: { error: typeof item.ctx?.['error'] } };
}

describe('A request recorded from a FastAPI service', () => {
  let service: TestService;
  let user: TestUser;

  beforeAll(async () => {
    service = await sharedTestService();
    // Without money, so that a valid request buys nothing.
    user = await service.createUser({ balance: '0.00' });
  });

  const send = ({ method, path, body, content_type: contentType }: RecordedCase) =>
    sendRaw(service.baseUrl, {
      method,
      path,
      body,
      token: user.token,
      ...(contentType && { headers: { 'content-type': contentType } }),
    });

  const named = (which: readonly RecordedCase[]) =>
    which.map(
      (recorded) =>
        [`${recorded.method} ${recorded.path} ${recorded.body ?? ''}`.slice(0, 150), recorded] as const,
    );
  const refused = cases.filter(({ expect: { valid } }) => !valid);
  const valid = cases.filter(({ expect: expected }) => expected.valid);

  it('was recorded 300 times', () => {
    expect(cases).toHaveLength(300);
    expect(refused.length).toBeGreaterThan(0);
    expect(valid.length).toBeGreaterThan(0);
  });

  it.each(named(refused))('is refused with the same items: %s', async (_, recorded) => {
    const answer = await send(recorded);
    expect(answer.status).toBe(422);
    const { detail } = answer.json() as { detail: readonly Item[] };
    expect(detail.map(loosen)).toEqual(recorded.expect.valid ? [] : recorded.expect.detail.map(loosen));
  });

  it.each(named(valid))('passes validation: %s', async (_, recorded) => {
    const { status } = await send(recorded);
    expect(status).not.toBe(422);
    expect(status).toBeLessThan(500);
  });
});
