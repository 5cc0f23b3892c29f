import { ApiProperty } from '@nestjs/swagger';
import { PROXY_TYPES, type ProxyType } from '../../common';
import { BooleanField, OptionalStringField } from '../../http';
import type { FormatName } from '../export/formats';
import { ExportFormatField, ExportTemplateField } from '../export/layout-fields';
import type { ProxyFilter } from '../filter/proxy-filter';
import { ProxyFilterFields, toProxyFilter } from '../filter/proxy-filter.query';

export class ExportProxiesQuery extends ProxyFilterFields {
  @ExportFormatField()
  readonly format!: FormatName;

  /** Null, as `all`, means proxies of either type. */
  @ApiProperty({
    description: 'Proxies of one type only: `http` or `socks` (SOCKS5). All of them by default',
  })
  @OptionalStringField({ pattern: `^(${PROXY_TYPES.join('|')}|all)$` })
  readonly proxy_type!: ProxyType | 'all' | null;

  @ApiProperty({ description: 'Only the proxies whose rental has not expired' })
  @BooleanField({ default: false })
  readonly active_only!: boolean;

  @ExportTemplateField()
  readonly template!: string | null;
}

export function toExportFilter(query: ExportProxiesQuery): ProxyFilter {
  const filter = toProxyFilter(query);
  return query.active_only ? { ...filter, active: true } : filter;
}
