import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { forAllTests } from './support/fixtures';
import { sendRaw } from './support/raw-http';
import { sharedTestService } from './support/test-service';

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

const read = (file: string) =>
  readFileSync(join(__dirname, 'fixtures', file), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RecordedCase);

/**
 * The first are recordings of the specified service. The others have values that features of this service
 * made valid elsewhere, and were recorded by `fixtures/record-validation-cases.py`.
 */
const RECORDINGS: readonly [what: string, cases: readonly RecordedCase[]][] = [
  ['recorded from the specified service', read('validation-cases.jsonl')],
  ['with a value of a later feature', read('later-features-cases.jsonl')],
];

/** Each parser has its own words for where and why JSON is malformed. */
function loosen(item: Item): object {
  if (item.type !== 'json_invalid') return item;
  return { ...item, loc: [item.loc[0], typeof item.loc[1]], ctx: { error: typeof item.ctx?.['error'] } };
}

describe.each(RECORDINGS)('A request %s', (_what, cases) => {
  const service = forAllTests(sharedTestService);
  // Without money, so that a valid request buys nothing.
  const user = forAllTests(() => service.createUser({ balance: '0.00' }));

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

  it('is one of many', () => {
    expect(cases.length).toBeGreaterThan(250);
    expect(refused.length).toBeGreaterThan(100);
    expect(valid.length).toBeGreaterThan(10);
  });

  it.each(named(refused))('is refused with the same items: %s', async (_, recorded) => {
    const response = await send(recorded);
    expect(response.status).toBe(422);
    const { detail } = response.json() as { detail: readonly Item[] };
    expect(detail.map(loosen)).toEqual(recorded.expect.valid ? [] : recorded.expect.detail.map(loosen));
  });

  it.each(named(valid))('passes validation: %s', async (_, recorded) => {
    const { status } = await send(recorded);
    expect(status).not.toBe(422);
    expect(status).toBeLessThan(500);
  });
});
