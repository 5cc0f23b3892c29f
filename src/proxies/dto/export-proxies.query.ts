import { BooleanField, OptionalStringField, StringField } from '../../http';

export class ExportProxiesQuery {
  @StringField({ pattern: '^(json|txt)$', default: 'json' })
  readonly format!: 'json' | 'txt';

  /** Null, as `all`, means proxies of either type. */
  @OptionalStringField({ pattern: '^(http|socks|all)$' })
  readonly proxy_type!: 'http' | 'socks' | 'all' | null;

  @BooleanField({ default: false })
  readonly active_only!: boolean;
}
