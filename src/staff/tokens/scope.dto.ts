import { ApiProperty } from '@nestjs/swagger';
import { ApiTexts } from '../../http';

export class ScopeOut {
  @ApiProperty({ type: 'string', example: 'profile:read' })
  scope!: string;

  @ApiProperty({ type: 'string', example: 'Profile, balance, ledger, usage and the renewal forecast' })
  grants!: string;

  @ApiProperty({ type: 'string', enum: ['customers', 'staff'], example: 'customers' })
  for!: 'customers' | 'staff';

  @ApiTexts('The routes that it allows', ['GET /me'])
  routes!: readonly string[];
}
