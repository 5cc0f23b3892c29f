import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { forAllTests } from './support/fixtures';
import { sendRaw } from './support/raw-http';
import { sharedTestService } from './support/test-service';

const AT_ONCE = 10;

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

/** Those of features that the specified service lacks were made by `fixtures/record-validation-cases.py`. */
const RECORDINGS: readonly [what: string, cases: readonly RecordedCase[]][] = [
  ['recorded from the specified service', read('validation-cases.jsonl')],
  ['with a value of a later feature', read('later-features-cases.jsonl')],
];

/** Parsers word the place and cause of malformed JSON differently. */
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

  async function sendAll(which: readonly RecordedCase[]) {
    const responses: { request: string; response: Awaited<ReturnType<typeof send>> }[] = [];
    for (let from = 0; from < which.length; from += AT_ONCE) {
      const sent = which.slice(from, from + AT_ONCE).map(async (recorded) => ({
        request: `${recorded.method} ${recorded.path} ${recorded.body ?? ''}`.slice(0, 150),
        response: await send(recorded),
      }));
      responses.push(...(await Promise.all(sent)));
    }
    return responses;
  }

  const refused = cases.filter(({ expect: { valid } }) => !valid);
  const valid = cases.filter(({ expect: expected }) => expected.valid);

  it('is one of many', () => {
    expect(cases.length).toBeGreaterThan(250);
    expect(refused.length).toBeGreaterThan(100);
    expect(valid.length).toBeGreaterThan(10);
  });

  it('is refused with the same items', async () => {
    const responses = await sendAll(refused);
    const items = responses.map(({ request, response }) => {
      const { detail } = response.json() as { detail: readonly Item[] };
      return [request, response.status, response.status === 422 ? detail.map(loosen) : detail];
    });
    expect(items).toEqual(
      refused.map(({ expect: expected }, at) => [
        responses[at]?.request,
        422,
        expected.valid ? [] : expected.detail.map(loosen),
      ]),
    );
  });

  it('passes validation', async () => {
    const failed = (await sendAll(valid)).filter(
      ({ response: { status } }) => status === 422 || status >= 500,
    );
    expect(failed.map(({ request }) => request)).toEqual([]);
  });
});
