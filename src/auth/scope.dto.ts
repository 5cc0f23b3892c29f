import { ApiProperty } from '@nestjs/swagger';

/** A scope and its rights. */
export class ScopeOut {
  @ApiProperty({ type: 'string', example: 'profile:read' })
  scope!: string;

  @ApiProperty({ type: 'string', example: 'Profile, balance, ledger, usage and the forecast of renewals' })
  grants!: string;

  @ApiProperty({ type: 'string', enum: ['customers', 'staff'], example: 'customers' })
  for!: 'customers' | 'staff';

  @ApiProperty({
    type: 'array',
    items: { type: 'string' },
    description: 'The routes that require it',
    example: ['GET /me'],
  })
  routes!: readonly string[];
}
