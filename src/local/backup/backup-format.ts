import { escapeIdentifier, escapeLiteral } from 'pg';
import { z } from 'zod';
import { isErrorWithCode } from '../system';

/**
 * A backup is a gzip of SQL that psql reads as well, in a database with the same migrations. Its second line
 * tells everything about it but the rows, so that a reader knows every other line that is not a row, and
 * carries out none that it does not know.
 */

const TITLE = '-- A backup of the proxy rental service, form 1';
const BEFORE_HEADER = '-- ';
export const END_OF_ROWS = '\\.';
/** After the last row, so that an interrupted backup is recognized also where its compression ends well. */
const END = '-- The end';

const MAX_HEADER_BYTES = 1_000_000;
const ZLIB_CODES = ['Z_DATA_ERROR', 'Z_BUF_ERROR', 'Z_NEED_DICT'];

const headerSchema = z.strictObject({
  made_at: z.iso.datetime(),
  /** The version of PostgreSQL that it comes from. */
  server: z.string(),
  /** Names of the migrations that had run. */
  migrations: z.array(z.string()).min(1),
  tables: z.array(z.strictObject({ name: z.string(), columns: z.array(z.string()).min(1) })),
  sequences: z.array(
    z.strictObject({ name: z.string(), value: z.string().regex(/^\d+$/), is_called: z.boolean() }),
  ),
});

export type BackupHeader = z.infer<typeof headerSchema>;
export type BackedUpTable = BackupHeader['tables'][number];

/** What is wrong with a file that was given as a backup, in one line. */
export class UnusableBackupError extends Error {}

/** Something else, damaged, or cut off. */
export class IncompleteBackupError extends UnusableBackupError {
  constructor(options?: ErrorOptions) {
    super('The file is not a complete backup of this service.', options);
  }
}

/** The lines before the first table. */
export const linesBefore = (header: BackupHeader): string[] => [
  TITLE,
  BEFORE_HEADER + JSON.stringify(header),
  ...statementsBefore(header),
];

/** Triggers and foreign keys are not asked again: they have seen these rows. */
export const statementsBefore = (header: BackupHeader): string[] => [
  'BEGIN;',
  'SET LOCAL session_replication_role = replica;',
  `SET LOCAL client_encoding = 'UTF8';`,
  `TRUNCATE ${tableList(header)};`,
];

export const tableList = ({ tables }: BackupHeader): string =>
  tables.map(({ name }) => escapeIdentifier(name)).join(', ');

export function copyStatement(
  { name, columns }: BackedUpTable,
  direction: 'FROM stdin' | 'TO STDOUT',
): string {
  const list = columns.map((column) => escapeIdentifier(column)).join(', ');
  return `COPY ${escapeIdentifier(name)} (${list}) ${direction};`;
}

export const statementsAfter = ({ sequences }: BackupHeader): string[] => [
  ...sequences.map(
    ({ name, value, is_called }) =>
      `SELECT pg_catalog.setval(${escapeLiteral(escapeIdentifier(name))}, ${value}, ${is_called});`,
  ),
  'COMMIT;',
];

/** The lines after the last table. */
export const linesAfter = (header: BackupHeader): string[] => [...statementsAfter(header), END];

/** Reads the text of a backup, which comes in pieces of any size. */
export class BackupReader {
  private rest: Buffer = Buffer.alloc(0);
  private readonly pieces: AsyncIterator<Buffer>;

  constructor(text: AsyncIterable<Buffer>) {
    this.pieces = text[Symbol.asyncIterator]();
  }

  async readHeader(): Promise<BackupHeader> {
    await this.expect([TITLE]);
    const line = await this.readLine(MAX_HEADER_BYTES);
    const { data: header } = headerSchema.safeParse(parseJson(line.slice(BEFORE_HEADER.length)));
    if (!header) throw new IncompleteBackupError();
    await this.expect(statementsBefore(header));
    return header;
  }

  /** Reads the rows of the table, in the form that COPY takes. Read them to the end before going on. */
  async *readRows(table: BackedUpTable): AsyncGenerator<Buffer> {
    await this.expect([copyStatement(table, 'FROM stdin')]);
    const first = Buffer.from(`${END_OF_ROWS}\n`);
    const later = Buffer.from(`\n${END_OF_ROWS}\n`);
    while (this.rest.length < first.length) await this.readMore();
    if (this.rest.subarray(0, first.length).equals(first)) {
      this.rest = this.rest.subarray(first.length);
      return;
    }
    for (;;) {
      const at = this.rest.indexOf(later);
      if (at >= 0) {
        yield this.rest.subarray(0, at + 1);
        this.rest = this.rest.subarray(at + later.length);
        return;
      }
      // The end may have come in part.
      const whole = Math.max(this.rest.length - later.length + 1, 0);
      if (whole > 0) yield this.rest.subarray(0, whole);
      this.rest = this.rest.subarray(whole);
      await this.readMore();
    }
  }

  /** Reads the lines after the last table, and sees that nothing follows. The check sums are right then. */
  async readEnd(header: BackupHeader): Promise<void> {
    await this.expect(linesAfter(header));
    if (this.rest.length > 0 || (await this.nextPiece()) !== undefined) throw new IncompleteBackupError();
  }

  private async expect(lines: readonly string[]): Promise<void> {
    for (const line of lines) {
      if ((await this.readLine(Buffer.byteLength(line))) !== line) throw new IncompleteBackupError();
    }
  }

  /** @throws IncompleteBackupError when the line is longer */
  private async readLine(maxBytes: number): Promise<string> {
    for (;;) {
      const at = this.rest.indexOf('\n');
      if (at > maxBytes || (at < 0 && this.rest.length > maxBytes)) throw new IncompleteBackupError();
      if (at >= 0) {
        const line = this.rest.subarray(0, at).toString();
        this.rest = this.rest.subarray(at + 1);
        return line;
      }
      await this.readMore();
    }
  }

  private async readMore(): Promise<void> {
    const piece = await this.nextPiece();
    if (piece === undefined) throw new IncompleteBackupError();
    this.rest = this.rest.length === 0 ? piece : Buffer.concat([this.rest, piece]);
  }

  private async nextPiece(): Promise<Buffer | undefined> {
    try {
      const { done, value } = await this.pieces.next();
      return done === true ? undefined : value;
    } catch (error) {
      // zlib's own codes: the text was compressed by something else, cut off or changed.
      if (!ZLIB_CODES.some((code) => isErrorWithCode(error, code))) throw error;
      throw new IncompleteBackupError({ cause: error });
    }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
