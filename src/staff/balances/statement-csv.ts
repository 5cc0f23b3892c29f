import { csvLine, disarmFormula } from '../../common';

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
] as const;

/** Times are in ISO 8601, with microseconds. */
export type StatementRow = Readonly<Record<(typeof COLUMNS)[number], string | number | null>> & {
  readonly seq: number;
};

const WRITTEN_BY_PEOPLE: readonly string[] = ['reference', 'reason'];

const toLine = (row: StatementRow): string =>
  csvLine(
    COLUMNS.map((column) => {
      const text = String(row[column] ?? '');
      return WRITTEN_BY_PEOPLE.includes(column) ? disarmFormula(text) : text;
    }),
  );

export async function* toCsv(batches: AsyncIterable<StatementRow[]>): AsyncGenerator<string> {
  let head = csvLine(COLUMNS);
  for await (const batch of batches) {
    yield head + batch.map(toLine).join('');
    head = '';
  }
}
