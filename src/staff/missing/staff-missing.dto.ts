import { ApiProperty } from '@nestjs/swagger';
import { IntegerField, StrictRequest, TextField } from '../../http';
import type { MissingProxies } from '../../inventory';

export class MissingProxiesOut implements MissingProxies {
  @ApiProperty({ type: 'integer', description: 'How many rented proxies are missing', example: 0 })
  proxies!: number;

  @ApiProperty({ type: 'integer', description: 'How many users rent them', example: 0 })
  users!: number;
}

@StrictRequest()
export class WithdrawalRequest {
  @IntegerField({
    description: 'How many proxies were seen to be missing',
    greaterThan: 0,
    atMost: Number.MAX_SAFE_INTEGER,
  })
  proxies!: number;

  @TextField()
  reason!: string;
}
