import { PROXY_TYPES, type ProxyType } from '../../common';
import { BooleanField, OptionalStringField, StringField } from '../../http';

export class ExportProxiesQuery {
  @StringField({ pattern: '^(json|txt)$', default: 'json' })
  readonly format!: 'json' | 'txt';

  /** Null, as `all`, means proxies of either type. */
  @OptionalStringField({ pattern: `^(${PROXY_TYPES.join('|')}|all)$` })
  readonly proxy_type!: ProxyType | 'all' | null;

  @BooleanField({ default: false })
  readonly active_only!: boolean;
}
