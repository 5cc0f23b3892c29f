import type { ProxyOut } from '../dto/proxy-out.dto';

const COLUMNS = [
  'id',
  'host',
  'port',
  'login',
  'password',
  'proxy_type',
  'country',
  'version',
  'date_start',
  'date_end',
  'active',
  'descr',
] as const satisfies readonly (keyof ProxyOut)[];

/** Spreadsheets read text with such a beginning as a formula; an apostrophe before it keeps it text. */
const FORMULA = /^[=+\-@\t\r]/;

function toCell(value: string | boolean | null): string {
  const text = String(value ?? '');
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const CSV_START = `${COLUMNS.join(',')}\r\n`;

export const csvLine = (proxy: ProxyOut): string =>
  `${COLUMNS.map((column) => toCell(proxy[column])).join(',')}\r\n`;
