import { ApiProperty } from '@nestjs/swagger';
import { PROXY_TYPES, type ProxyType } from '../../common';
import { ChoiceField, StrictRequest } from '../../http';

@StrictRequest()
export class TypeChangeRequest {
  @ApiProperty({ description: '`http` or `socks` (SOCKS5)', example: 'socks' })
  @ChoiceField(PROXY_TYPES)
  readonly proxy_type!: ProxyType;
}
