/** Spreadsheets read text with such a beginning as a formula, in full width (＝ ＋ － ＠) as well. */
const FORMULA = /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/;

/** Text that somebody else wrote; an apostrophe keeps a spreadsheet from reading it as a formula. */
export const disarmFormula = (text: string): string => (FORMULA.test(text) ? `'${text}` : text);

const toCell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A line of CSV as RFC 4180 has it. */
export const csvLine = (cells: readonly string[]): string => `${cells.map(toCell).join(',')}\r\n`;
