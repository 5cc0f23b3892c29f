import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import { dataSourceOptions } from '../src/database';
import { connectAsOwner, createTestDatabase } from './support/test-database';

interface Owned {
  readonly owner: string;
  /** Other modules that write the table, with the reason. */
  readonly writers?: Readonly<Record<string, string>>;
  readonly readers?: readonly string[];
}

const { tables, functions } = jest.requireActual<{
  tables: Readonly<Record<string, Owned>>;
  functions: Readonly<Record<string, string>>;
}>('../.table-owners.cjs');

const SOURCES = join(__dirname, '..', 'src');
const FUNCTIONS = join(SOURCES, 'database', 'functions');
const WRITE = /\b(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM|TRUNCATE)\s+(?:ONLY\s+)?(\w+)/g;
const READ = /\b(?:FROM|JOIN|USING)\s+(?:ONLY\s+)?(\w+)/g;

function sourcesOf(): { module: string; text: string }[] {
  return readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(ts|sql)$/.test(path) && !/\.spec\.ts$|migrations|^sandbox/.test(path))
    .map((path) => {
      const isFunction = join(SOURCES, path).startsWith(FUNCTIONS + sep);
      const module = isFunction ? functions[basename(path, '.sql')] : path.split(sep)[0];
      return { module: module ?? `unknown: ${path}`, text: readFileSync(join(SOURCES, path), 'utf8') };
    });
}

const matchesOf = (pattern: RegExp, text: string): string[] =>
  [...text.matchAll(pattern)].map(([, name]) => name ?? '').filter((name) => name in tables);

describe('The tables', () => {
  const sources = sourcesOf();

  function othersOf(find: (text: string) => readonly string[]): Record<string, string[]> {
    const found = new Map<string, Set<string>>();
    for (const { module, text } of sources) {
      if (module === 'integrity') continue;
      for (const table of find(text)) {
        if (tables[table]?.owner === module) continue;
        found.set(table, (found.get(table) ?? new Set()).add(module));
      }
    }
    return Object.fromEntries([...found].map(([table, modules]) => [table, [...modules].sort()]));
  }
  const listed = (of: (owned: Owned) => readonly string[]): Record<string, string[]> =>
    Object.fromEntries(
      Object.entries(tables)
        .map(([table, owned]): [string, string[]] => [table, [...of(owned)].sort()])
        .filter(([, modules]) => modules.length > 0),
    );
  it('are all listed with an owner', async () => {
    const database = await createTestDatabase();
    const owner = await connectAsOwner(database);
    const migrations = dataSourceOptions({
      url: 'postgres://localhost',
      poolSize: 1,
      applicationName: 'test',
    }).migrationsTableName;
    const rows = await owner.query<{ name: string }[]>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> $1 ORDER BY 1`,
      [migrations ?? 'migrations'],
    );
    await owner.destroy();
    await database.drop();
    expect(rows.map(({ name }) => name)).toEqual(Object.keys(tables).sort());
    const names = readdirSync(FUNCTIONS).map((file) => basename(file, '.sql'));
    expect(names.sort()).toEqual(Object.keys(functions).sort());
  });

  it('are written by their owners, and by others with a reason', () => {
    const others = listed(({ writers = {} }) => Object.keys(writers));
    expect(othersOf((text) => matchesOf(WRITE, text))).toEqual(others);
    expect(Object.keys(others).length).toBeLessThanOrEqual(4);
  });

  it('are read by the modules that are listed', () => {
    const written = listed(({ writers = {} }) => Object.keys(writers));
    const onlyRead = Object.entries(othersOf((text) => matchesOf(READ, text)))
      .map(([table, modules]) => [table, modules.filter((module) => !written[table]?.includes(module))])
      .filter(([, modules]) => (modules?.length ?? 0) > 0);
    expect(Object.fromEntries(onlyRead)).toEqual(listed(({ readers = [] }) => readers));
  });
});
