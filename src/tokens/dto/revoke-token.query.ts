import { ApiProperty } from '@nestjs/swagger';
import { BooleanField, StrictRequest } from '../../http';

@StrictRequest()
export class RevokeTokenQuery {
  @ApiProperty({ description: 'Whether the tokens that it issued are revoked with it' })
  @BooleanField({ default: false })
  descendants!: boolean;
}
