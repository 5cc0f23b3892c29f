import { csvLine, disarmFormula } from '../../common';
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

export const PROXY_CSV_START = csvLine(COLUMNS);

export const proxyCsvLine = (proxy: ProxyOut): string =>
  csvLine(COLUMNS.map((column) => disarmFormula(String(proxy[column] ?? ''))));
