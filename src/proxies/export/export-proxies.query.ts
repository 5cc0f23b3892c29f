import { PROXY_TYPES, type ProxyType } from '../../common';
import { BooleanField, ChoiceField, ExcelField, StrictRequest, StringField } from '../../http';
import type { ProxyFilter } from '../filter/proxy-filter';
import { ProxyFilterFields, toProxyFilter } from '../filter/proxy-filter.query';
import { SOCKS_SCHEMES, type SocksScheme } from './proxy-url';
import { ExportTemplateField } from './template-field';

const SocksField = () =>
  ChoiceField(SOCKS_SCHEMES, {
    description:
      'The URL scheme for SOCKS5 proxies in the format `url` and in templates. python-socks, ' +
      'aiohttp-socks, httpx before 0.28 and FoxyProxy support only `socks5`',
    default: 'socks5h',
  });

export class SocksQuery {
  @SocksField()
  readonly socks!: SocksScheme;
}

class ExportFilterQuery extends ProxyFilterFields {
  /** Null, like `all`, selects both types. */
  @StringField({
    description: 'Proxies of one type only: `http` or `socks` (SOCKS5). All of them by default',
    pattern: `^(${PROXY_TYPES.join('|')}|all)$`,
    absent: 'null',
    describesNull: true,
  })
  readonly proxy_type!: ProxyType | 'all' | null;

  @BooleanField({
    description: 'Only the proxies whose rental has not expired',
    default: false,
  })
  readonly active_only!: boolean;
}

/** Allows only two formats and ignores unknown parameters, because the API contract must not change. */
export class ExportProxiesQuery extends ExportFilterQuery {
  @StringField({
    description: '`json`, or `txt` for a line `host:port:login:password` per proxy',
    pattern: '^(json|txt)$',
    default: 'json',
  })
  readonly format!: 'json' | 'txt';
}

@StrictRequest()
export class ProxyFileQuery extends ExportFilterQuery {}

@StrictRequest()
export class CsvFileQuery extends ProxyFileQuery {
  @ExcelField()
  readonly excel!: boolean;
}

@StrictRequest()
export class UrlFileQuery extends ProxyFileQuery {
  @SocksField()
  readonly socks!: SocksScheme;
}

@StrictRequest()
export class TemplateFileQuery extends ExportFilterQuery {
  @SocksField()
  readonly socks!: SocksScheme;

  @ExportTemplateField()
  readonly template!: string;
}

export function toExportFilter(query: ExportFilterQuery): ProxyFilter {
  const filter = toProxyFilter(query);
  return query.active_only ? { ...filter, active: true } : filter;
}
