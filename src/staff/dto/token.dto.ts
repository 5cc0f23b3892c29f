import { ApiProperty } from '@nestjs/swagger';
import { ALL_SCOPES, ALL_STAFF_SCOPES, isNetwork, isScope, type Scope } from '../../auth';
import { type Money } from '../../common';
import { AmountField, DateTimeField, StringListField } from '../../http';
import { ApiItems, ApiNextCursor, ApiNullable, TextField } from './fields';

const EVERY_SCOPE = [...ALL_SCOPES, ...ALL_STAFF_SCOPES];
const MOST_NETWORKS = 50;

export class NewTokenRequest {
  @StringListField({
    atLeast: 1,
    atMost: EVERY_SCOPE.length,
    of: {
      isValid: isScope,
      type: 'enum',
      msg: `Input should be ${EVERY_SCOPE.map((scope) => `'${scope}'`).join(', ')}`,
    },
  })
  scopes!: readonly Scope[];

  @TextField({ optional: true })
  name!: string | null;

  @DateTimeField({ optional: true })
  expires_at!: Date | null;

  @StringListField({
    optional: true,
    atLeast: 1,
    atMost: MOST_NETWORKS,
    of: {
      isValid: isNetwork,
      type: 'ip_any_network',
      msg: 'Input should be an address or a network in CIDR notation',
    },
  })
  allowed_ips!: readonly string[] | null;

  @AmountField({ optional: true })
  daily_limit!: Money | null;
}

export class TokenOut {
  @ApiProperty({ type: 'integer', example: 17 })
  id!: number;

  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiNullable('string', { example: 'laptop' })
  name!: string | null;

  @ApiProperty({ type: 'array', items: { type: 'string' }, example: ['profile:read', 'proxies:read'] })
  scopes!: readonly string[];

  @ApiProperty({ type: 'string', format: 'date-time', example: '2026-11-21T12:00:00.000Z' })
  created_at!: Date;

  @ApiNullable('string', { format: 'date-time', example: null })
  expires_at!: Date | null;

  @ApiNullable('string', { format: 'date-time', example: null })
  revoked_at!: Date | null;

  @ApiNullable('string', { format: 'date-time', description: 'To the minute', example: null })
  last_used_at!: Date | null;

  @ApiProperty({
    anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'null' }],
    description: 'Networks from which alone it may be used; null: from anywhere',
    example: ['203.0.113.0/24'],
  })
  allowed_ips!: readonly string[] | null;

  @ApiNullable('string', {
    description: 'Roubles that its orders may take in a day of UTC; null: no limit',
    example: '500.00',
  })
  daily_limit!: string | null;
}

export class TokensPage {
  @ApiItems(() => TokenOut)
  items!: readonly TokenOut[];

  @ApiNextCursor()
  next_cursor!: number | null;
}

export class IssuedToken extends TokenOut {
  @ApiProperty({ type: 'string', description: 'Shown this once', example: 'prx_…' })
  token!: string;
}
