/** Matches each position where a spreadsheet may parse a formula. Full-width signs also begin a formula. */
const FORMULA = /(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])(?<=^|[;\t\r\n]"*)|^(?=[\t\r])/g;

/** Prefixes untrusted text with an apostrophe where a spreadsheet would parse it as a formula. */
export const disarmFormula = (text: string): string => text.replace(FORMULA, "'");

const toCell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export const csvLine = (cells: readonly string[]): string => `${cells.map(toCell).join(',')}\r\n`;

const CELLS = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g;
/** Text that Excel keeps unchanged: words, and numbers that it displays in full. */
const PLAIN = /^(?:-?(?:0|[1-9]\d{0,10})|(?!true$|false$)[a-z_]*)$/;
/** Maximum length of a text literal in an Excel formula. */
const MAX_TEXT_OF_FORMULA = 255;

/** Returns a function that converts CSV chunks for Excel. The first line must contain the column names. */
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
