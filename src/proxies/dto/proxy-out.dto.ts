import { ApiTitled } from '../../http';
import type { ProxyFields } from '../proxy';

const NULLABLE_DATE = {
  required: false,
  anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }],
};

export class ProxyOut {
  @ApiTitled({
    type: 'string',
    example: '17',
    description: 'Used in the paths of prolong and ping',
  })
  id!: string;

  @ApiTitled({ type: 'string', example: '185.22.134.250' })
  host!: string;

  @ApiTitled({ type: 'string', example: '7330' })
  port!: string;

  @ApiTitled({ type: 'string', example: '5svBNZ' })
  login!: string;

  @ApiTitled({ type: 'string', example: 'iagn2d' })
  password!: string;

  @ApiTitled({ type: 'string', example: 'http', description: '`http` or `socks` (SOCKS5)' })
  proxy_type!: string;

  @ApiTitled({ type: 'string', example: 'ru', description: 'ISO 3166 alpha-2, in lower case' })
  country!: string;

  @ApiTitled({ type: 'string', example: '6', description: '`6`, `4` or `4s` (IPv4 shared)' })
  version!: string;

  @ApiTitled({ ...NULLABLE_DATE, example: '2026-11-01T12:00:00Z' })
  date_start!: string | null;

  @ApiTitled({ ...NULLABLE_DATE, example: '2026-12-01T12:00:00Z' })
  date_end!: string | null;

  @ApiTitled({
    type: 'boolean',
    required: false,
    default: true,
    description:
      'True while `date_end` is in the future at the time of the response, unless the provider has ' +
      'withdrawn the proxy',
  })
  active!: boolean;

  @ApiTitled({
    required: false,
    anyOf: [{ type: 'string' }, { type: 'null' }],
    description: 'Description',
    example: null,
  })
  descr!: string | null;
}

/**
 * Returns a function that formats times in UTC, to the second. It caches the last result, because proxies
 * bought together share the same times.
 */
function secondsWriter(): (date: Date | null) => string | null {
  let last = { ms: NaN, text: '' };
  return (date) => {
    if (!date) return null;
    const ms = date.getTime();
    if (ms !== last.ms) last = { ms, text: `${date.toISOString().slice(0, -'.000Z'.length)}Z` };
    return last.text;
  };
}

const writeStart = secondsWriter();
const writeEnd = secondsWriter();

export function toProxyOut(proxy: ProxyFields, now: Date): ProxyOut {
  return {
    id: String(proxy.id),
    host: proxy.host,
    port: proxy.port,
    login: proxy.login,
    password: proxy.password,
    proxy_type: proxy.proxyType,
    country: proxy.country,
    version: proxy.version,
    date_start: writeStart(proxy.dateStart),
    date_end: writeEnd(proxy.dateEnd),
    active: (proxy.dateEnd?.getTime() ?? 0) > now.getTime() && proxy.withdrawnAt === null,
    descr: proxy.label,
  };
}
