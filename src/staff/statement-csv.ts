import type { StatementRow } from './staff-balance.service';

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

/** A spreadsheet takes text that begins so for a formula; what people wrote is kept from it by an apostrophe. */
const FORMULA = /^[=+\-@\t\r]/;
const WRITTEN_BY_PEOPLE: readonly string[] = ['reference', 'reason'];

function cell(row: StatementRow, column: (typeof COLUMNS)[number]): string {
  const text = String(row[column] ?? '');
  const safe = WRITTEN_BY_PEOPLE.includes(column) && FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** RFC 4180, with a line of names. */
export async function* asCsv(batches: AsyncIterable<StatementRow[]>): AsyncGenerator<string> {
  let head = `${COLUMNS.join(',')}\r\n`;
  for await (const batch of batches) {
    yield head + batch.map((row) => `${COLUMNS.map((column) => cell(row, column)).join(',')}\r\n`).join('');
    head = '';
  }
}
