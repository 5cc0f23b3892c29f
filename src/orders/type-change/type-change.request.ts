import { ApiProperty } from '@nestjs/swagger';
import { PROXY_TYPES, type ProxyType } from '../../common';
import { StrictRequest, StringField } from '../../http';

@StrictRequest()
export class TypeChangeRequest {
  @ApiProperty({ description: '`http` or `socks` (SOCKS5)', example: 'socks' })
  @StringField({ pattern: `^(${PROXY_TYPES.join('|')})$` })
  readonly proxy_type!: ProxyType;
}
