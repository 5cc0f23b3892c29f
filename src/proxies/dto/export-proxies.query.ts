import { ApiProperty } from '@nestjs/swagger';
import { PROXY_TYPES, type ProxyType } from '../../common';
import { BooleanField, OptionalStringField, StringField } from '../../http';

export class ExportProxiesQuery {
  @ApiProperty({ description: 'JSON, or one line of text for each proxy' })
  @StringField({ pattern: '^(json|txt)$', default: 'json' })
  readonly format!: 'json' | 'txt';

  /** Null, as `all`, means proxies of either type. */
  @ApiProperty({ description: 'Proxies of one type only: `http` or `socks`. All of them by default' })
  @OptionalStringField({ pattern: `^(${PROXY_TYPES.join('|')}|all)$` })
  readonly proxy_type!: ProxyType | 'all' | null;

  @ApiProperty({ description: 'Only the proxies whose rental has not expired' })
  @BooleanField({ default: false })
  readonly active_only!: boolean;
}
