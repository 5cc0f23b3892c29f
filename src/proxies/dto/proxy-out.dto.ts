import { ApiProperty } from '@nestjs/swagger';
import type { ProxyFields } from '../proxy';

const NULLABLE_DATE = {
  required: false,
  anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }],
};

export class ProxyOut {
  @ApiProperty({
    type: 'string',
    title: 'Id',
    example: '17',
    description: 'Used in the paths of prolong and ping',
  })
  id!: string;

  @ApiProperty({ type: 'string', title: 'Host', example: '185.22.134.250' })
  host!: string;

  @ApiProperty({ type: 'string', title: 'Port', example: '7330' })
  port!: string;

  @ApiProperty({ type: 'string', title: 'Login', example: '5svBNZ' })
  login!: string;

  @ApiProperty({ type: 'string', title: 'Password', example: 'iagn2d' })
  password!: string;

  @ApiProperty({
    type: 'string',
    title: 'Proxy Type',
    example: 'http',
    description: '`http` or `socks` (SOCKS5)',
  })
  proxy_type!: string;

  @ApiProperty({
    type: 'string',
    title: 'Country',
    example: 'ru',
    description: 'ISO 3166 alpha-2, in lower case',
  })
  country!: string;

  @ApiProperty({
    type: 'string',
    title: 'Version',
    example: '6',
    description: '`6`, `4` or `4s` (IPv4 shared)',
  })
  version!: string;

  @ApiProperty({ ...NULLABLE_DATE, title: 'Date Start', example: '2026-11-01T12:00:00Z' })
  date_start!: string | null;

  @ApiProperty({ ...NULLABLE_DATE, title: 'Date End', example: '2026-12-01T12:00:00Z' })
  date_end!: string | null;

  @ApiProperty({
    type: 'boolean',
    required: false,
    default: true,
    title: 'Active',
    description:
      'True while `date_end` is in the future at the time of the response, unless the provider has ' +
      'withdrawn the proxy',
  })
  active!: boolean;

  @ApiProperty({
    required: false,
    anyOf: [{ type: 'string' }, { type: 'null' }],
    title: 'Descr',
    description: 'Description',
    example: null,
  })
  descr!: string | null;
}

/**
 * Formats times: UTC, to the second, because the provider's times are whole seconds. The proxies of a
 * purchase have the same times, so that the last text can often be reused.
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

/** A proxy as its customer sees it at a given time. */
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
    descr: proxy.descr,
  };
}
