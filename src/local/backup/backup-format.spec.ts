import {
  type BackupHeader,
  BackupReader,
  copyStatement,
  END_OF_ROWS,
  linesAfter,
  linesBefore,
} from './backup-format';

const header: BackupHeader = {
  made_at: '2026-11-22T10:00:00.000Z',
  server: '18.4',
  migrations: ['First1'],
  tables: [
    { name: 'empty', columns: ['id'] },
    { name: 'users', columns: ['id', 'name'] },
  ],
  sequences: [{ name: 'users_id_seq', value: '7', is_called: true }],
};

/** COPY writes a row's own backslash twice, so that only the end looks like the end. */
const ROWS = ['1\tanna', '2\t\\\\.', '3\t\\\\.\\n\\\\.', '4\tx\\.'];

const REFUSAL = 'The file is not a complete backup of this service.';

const lines = [
  ...linesBefore(header),
  copyStatement(header.tables[0]!, 'FROM stdin'),
  END_OF_ROWS,
  copyStatement(header.tables[1]!, 'FROM stdin'),
  ...ROWS,
  END_OF_ROWS,
  ...linesAfter(header),
];
const text = (from: readonly string[]): string => from.map((line) => `${line}\n`).join('');

async function* inPieces(whole: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(whole);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Gives the header and the rows of each table. */
async function readAll(whole: string, size = 7): Promise<unknown> {
  const reader = new BackupReader(inPieces(whole, size));
  const found = await reader.readHeader();
  const rows: string[] = [];
  for (const table of found.tables) {
    let read = '';
    for await (const piece of reader.readRows(table)) read += piece.toString();
    rows.push(read);
  }
  await reader.readEnd(found);
  return { header: found, rows };
}

describe('a backup', () => {
  it.each([1, 2, 3, 5, 100_000])('is read in pieces of %d bytes', async (size) => {
    expect(await readAll(text(lines), size)).toEqual({ header, rows: ['', text(ROWS)] });
  });

  it('is refused when its end is missing, wherever it was cut off', async () => {
    const whole = text(lines);
    for (let length = 0; length < whole.length; length += 1) {
      await expect(readAll(whole.slice(0, length), 50)).rejects.toThrow(REFUSAL);
    }
  });

  it.each([
    ['a statement of somebody else', lines.map((line) => line.replace('COMMIT;', 'DROP TABLE users;'))],
    ['another list of columns', lines.map((line) => line.replace('("id", "name")', '("name", "id")'))],
    ['another value of a sequence', lines.map((line) => line.replace('7, true', '9, true'))],
    ['something behind its end', [...lines, 'SELECT 1;']],
  ])('is refused with %s', async (_, changed) => {
    expect(changed).not.toEqual(lines);
    await expect(readAll(text(changed))).rejects.toThrow(REFUSAL);
  });

  it.each([
    ['of another program', ['PGDMP', ...lines]],
    ['without its header', [lines[0]!, ...lines.slice(2)]],
    ['that is empty', []],
  ])('is not a file %s', async (_, other) => {
    await expect(readAll(text(other))).rejects.toThrow(REFUSAL);
  });
});
