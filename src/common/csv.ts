/**
 * Where spreadsheets read a formula, even in full width (＝ ＋ － ＠): at the start of text, and after a
 * character at which they may split it.
 */
const FORMULA = /(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])(?<=^|[;\t\r\n]"*)|^(?=[\t\r])/g;

/** For text from others: an apostrophe keeps a spreadsheet from reading it as a formula. */
export const disarmFormula = (text: string): string => text.replace(FORMULA, "'");

const toCell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A line of CSV by RFC 4180. */
export const csvLine = (cells: readonly string[]): string => `${cells.map(toCell).join(',')}\r\n`;

const CELLS = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g;
/** Text that Excel does not change: words, and numbers that it shows in full. */
const PLAIN = /^(?:-?(?:0|[1-9]\d{0,10})|(?!true$|false$)[a-z_]*)$/;
/** Excel reads no longer text within a formula. */
const MAX_TEXT_OF_FORMULA = 255;

/**
 * Rewrites the pieces of a CSV file for Excel, which splits at semicolons where decimals have a comma. Text
 * that it would read as a number or a time becomes a formula. The first line contains the column names.
 */
export function excelWriter(): (csv: string) => string {
  const isAmount: boolean[] = [];
  let [start, column] = ['\uFEFF', 0];
  const write = (
    _cell: string,
    quoted: string | undefined,
    plain: string | undefined,
    end: string,
  ): string => {
    const text = quoted?.replaceAll('""', '"') ?? plain ?? '';
    if (start !== '') isAmount.push(/_(before|delta|after)$/.test(text));
    const isPlain = PLAIN.test(text) || text.length > MAX_TEXT_OF_FORMULA;
    const cell = isPlain ? text : `="${text.replaceAll('"', '""')}"`;
    const written = isAmount[column] === true ? text.replace('.', ',') : toCell(cell);
    column = end === ',' ? column + 1 : 0;
    if (column === 0) start = '';
    return written + (column === 0 ? end : ';');
  };
  return (csv) => start + csv.replace(CELLS, write);
}
