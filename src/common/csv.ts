/** Spreadsheets read text with such a beginning as a formula, also in full width (＝ ＋ － ＠). */
const FORMULA = /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/;

/** For text from others: an apostrophe keeps a spreadsheet from reading it as a formula. */
export const disarmFormula = (text: string): string => (FORMULA.test(text) ? `'${text}` : text);

const toCell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A line of CSV by RFC 4180. */
export const csvLine = (cells: readonly string[]): string => `${cells.map(toCell).join(',')}\r\n`;
