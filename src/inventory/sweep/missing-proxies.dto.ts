import { ApiProperty } from '@nestjs/swagger';

/** Proxies that are missing at the provider, for staff to decide. */
export class MissingProxiesOut {
  @ApiProperty({ type: 'integer', description: 'How many rented proxies are missing', example: 0 })
  proxies!: number;

  @ApiProperty({ type: 'integer', description: 'How many users rent them', example: 0 })
  users!: number;
}
