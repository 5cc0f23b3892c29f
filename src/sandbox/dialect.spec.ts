import { DEFAULT_DIALECT, type Dialect } from '.';
import { sandboxForAllTests } from '../../test/support/sandbox';

const SHORT_PAGES = { ...DEFAULT_DIALECT, pageLimit: 4 } as const;
const { client, control } = sandboxForAllTests();
beforeAll(async () => {
  await control.setDialect(SHORT_PAGES);
  for (const descr of ['o1', 'o10', 'x.o1']) {
    await client.call(`buy?count=2&period=7&country=nl&version=4&descr=${descr}`);
  }
});
afterEach(() => control.setDialect(SHORT_PAGES));

async function listed(query: string): Promise<Array<Record<string, string>>> {
  const { list } = await client.call(`getproxy?nokey&${query}`);
  if (!Array.isArray(list)) throw new Error('Not a list');
  return list;
}

const ids = async (query: string): Promise<number[]> => (await listed(query)).map(({ id }) => Number(id));
const ascending = (numbers: readonly number[]): number[] => [...numbers].sort((a, b) => a - b);

test.each<[descrFilter: Dialect['descrFilter'], found: string[]]>([
  ['exact', ['o1', 'o1']],
  ['prefix', ['o1', 'o1', 'o10', 'o10']],
  ['substring', ['o1', 'o1', 'o10', 'o10', 'x.o1', 'x.o1']],
  ['ignored', ['o1', 'o1', 'o10', 'o10', 'x.o1', 'x.o1']],
])('a filter that is %s finds %j', async (descrFilter, found) => {
  await control.setDialect({ descrFilter });

  const pages = await Promise.all([listed('descr=o1'), listed('descr=o1&page=2')]);
  expect(pages.flat().map(({ descr }) => descr)).toEqual(found);
});

test('a page is never longer than the limit of the dialect', async () => {
  await control.setDialect({ descrFilter: 'exact' });

  const pages = [await ids('limit=1000'), await ids('limit=1000&page=2'), await ids('page=3')];
  expect(pages.map((page) => page.length)).toEqual([4, 2, 0]);
  expect(pages.flat()).toEqual(ascending(pages.flat()));
});

test('pages that are unsorted keep their order, and hold each proxy once', async () => {
  await control.setDialect({ pageOrder: 'unsorted' });

  const pages = [...(await ids('page=1')), ...(await ids('page=2'))];
  expect(new Set(pages).size).toBe(6);
  expect(pages).not.toEqual(ascending(pages));
  await expect(ids('page=1')).resolves.toEqual(pages.slice(0, 4));
});

test('rows that move make a page another one each time', async () => {
  await control.setDialect({ pageOrder: 'moving' });

  const pages = await Promise.all(Array.from({ length: 8 }, () => ids('page=1')));
  expect(new Set(pages.map((page) => page.join())).size).toBeGreaterThan(1);
});

test.each<[values: Record<string, unknown>, message: string]>([
  [{ descrFilter: 'fuzzy' }, 'descrFilter'],
  [{ pageLimit: 0 }, 'pageLimit'],
  [{ colour: 'red' }, 'colour'],
])('%j is refused with a message that names it', async (values, message) => {
  await expect(control.setDialect(values)).rejects.toThrow(message);
});
