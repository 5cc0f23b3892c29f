/** A line of a statement. */
export interface StatementRow {
  readonly seq: number;
  /** ISO 8601, to the microsecond. */
  readonly created_at: string;
  readonly kind: string;
  readonly available_delta: string;
  readonly held_delta: string;
  readonly available_after: string;
  readonly held_after: string;
  readonly order_id: number | null;
  readonly reference: string | null;
  readonly reason: string | null;
}

const COLUMNS = [
  'seq',
  'created_at',
  'kind',
  'available_delta',
  'held_delta',
  'available_after',
  'held_after',
  'order_id',
  'reference',
  'reason',
] as const satisfies readonly (keyof StatementRow)[];

/** Spreadsheets read text with such a beginning as a formula; an apostrophe before it keeps it text. */
const FORMULA = /^[=+\-@\t\r]/;
const WRITTEN_BY_PEOPLE: readonly string[] = ['reference', 'reason'];

function toCell(row: StatementRow, column: (typeof COLUMNS)[number]): string {
  const text = String(row[column] ?? '');
  const safe = WRITTEN_BY_PEOPLE.includes(column) && FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** CSV as RFC 4180 has it, with the names of the columns in the first line. */
export async function* toCsv(batches: AsyncIterable<StatementRow[]>): AsyncGenerator<string> {
  let head = `${COLUMNS.join(',')}\r\n`;
  for await (const batch of batches) {
    yield head + batch.map((row) => `${COLUMNS.map((column) => toCell(row, column)).join(',')}\r\n`).join('');
    head = '';
  }
}
