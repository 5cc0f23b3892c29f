import { PROXY_TYPES, type ProxyType } from '../../common';
import { ChoiceField, StrictRequest } from '../../http';

@StrictRequest()
export class TypeChangeRequest {
  @ChoiceField(PROXY_TYPES, { description: '`http` or `socks` (SOCKS5)', example: 'socks' })
  readonly proxy_type!: ProxyType;
}
