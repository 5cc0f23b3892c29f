import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSpecified } from '../../src/http/errors/specified-routes';
import { examplesOf, operationsOf, readDescription } from '../support/description';
import { forAllTests } from '../support/fixtures';
import { expectGenerated, wrapped } from '../support/generated';
import { sharedTestService } from '../support/test-service';

const DOCUMENT = join(__dirname, '../../docs/errors.md');
const BEGIN = '<!-- Generated from the descriptions by `npm run generate:errors`. -->\n';
const UNROUTED = ['Bad Request', 'Method Not Allowed', 'Request Timeout', 'Request Header Fields Too Large'];
const service = forAllTests(sharedTestService);

interface DescribedError {
  readonly route: string;
  readonly status: string;
  readonly detail: string;
  readonly code?: string;
}

/** Omits 422, whose items have types. */
async function readErrors(path: string): Promise<DescribedError[]> {
  const operations = operationsOf(await readDescription(service.baseUrl + path));
  return operations.flatMap(({ name: route, operation }) =>
    Object.entries(operation.responses)
      .filter(([status]) => Number(status) >= 400 && status !== '422')
      .flatMap(([status, { content }]) =>
        examplesOf(content?.['application/json']).map((example) => ({
          route,
          status,
          ...(example as { readonly detail: string; readonly code?: string }),
        })),
      ),
  );
}

function listOf(errors: readonly DescribedError[]): string {
  const codes = new Map<string, Set<string>>();
  for (const { status, code } of errors) {
    if (code !== undefined) codes.set(status, (codes.get(status) ?? new Set()).add(`\`${code}\``));
  }
  return [...codes]
    .toSorted(([a], [b]) => Number(a) - Number(b))
    .map(([status, names]) => wrapped([...names].toSorted().join(', '), `- ${status}:`))
    .join('\n');
}

describe('docs/errors.md', () => {
  const customers = forAllTests(() => readErrors('/openapi.json'));
  const staff = forAllTests(() => readErrors('/staff/openapi.json'));

  it('lists the code of every described error (npm run generate:errors)', () => {
    const [before] = readFileSync(DOCUMENT, 'utf8').split(BEGIN);
    const known = new Set(customers.map(({ code }) => code));
    const ofStaff = staff.filter(({ code }) => !known.has(code));
    const expected =
      `${before}${BEGIN}\n## Errors customers can get\n\n${listOf(customers)}\n` +
      `\n## Further errors staff can get\n\n${listOf(ofStaff)}\n`;
    expectGenerated(DOCUMENT, 'UPDATE_ERRORS', expected);
  });

  it('has codes for every route that is not specified, and for no other', () => {
    const wrong = [...customers, ...staff].filter(
      ({ route, detail, code }) => (code === undefined) !== (isSpecified(route) || UNROUTED.includes(detail)),
    );
    expect(wrong).toEqual([]);
  });

  it('has one status for each code', () => {
    const statuses = new Map<string, string>();
    const several = [...customers, ...staff].filter(({ status, code = status }) => {
      const first = statuses.get(code) ?? status;
      statuses.set(code, first);
      return first !== status;
    });
    expect(several).toEqual([]);
  });
});
