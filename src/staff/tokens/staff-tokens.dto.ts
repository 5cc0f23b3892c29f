import { ApiProperty } from '@nestjs/swagger';
import {
  ALL_SCOPES,
  ALL_STAFF_SCOPES,
  isScope,
  NetworksField,
  type Scope,
  type TokenOrigin,
} from '../../auth';
import { type Money } from '../../common';
import {
  AmountField,
  ApiMoment,
  ApiNullable,
  ApiNullableMoment,
  BooleanField,
  DateTimeField,
  PageOf,
  StrictRequest,
  StringListField,
  TextField,
} from '../../http';
import { ReasonRequest } from '../fields';

const EVERY_SCOPE = [...ALL_SCOPES, ...ALL_STAFF_SCOPES];

@StrictRequest()
export class NewTokenRequest {
  @StringListField({
    atLeast: 1,
    atMost: EVERY_SCOPE.length,
    of: {
      isValid: isScope,
      type: 'enum',
      choices: EVERY_SCOPE,
      msg: `Input should be ${EVERY_SCOPE.map((scope) => `'${scope}'`).join(', ')}`,
    },
  })
  scopes!: readonly Scope[];

  @TextField({ absent: 'null' })
  name!: string | null;

  @DateTimeField({ absent: 'null' })
  expires_at!: Date | null;

  @NetworksField()
  allowed_ips!: readonly string[] | null;

  @AmountField({ absent: 'null' })
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

  @ApiMoment()
  created_at!: Date;

  @ApiNullableMoment('Null: the token does not expire', null)
  expires_at!: Date | null;

  @ApiNullableMoment('When the token was revoked', null)
  revoked_at!: Date | null;

  @ApiNullableMoment('When the token was last used, to the minute', null)
  last_used_at!: Date | null;

  @ApiProperty({
    anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'null' }],
    description: 'The only networks that the token works from. Null: it works from anywhere',
    example: ['203.0.113.0/24'],
  })
  allowed_ips!: readonly string[] | null;

  @ApiNullable('string', {
    description: 'The most roubles that its orders may take in one day (UTC). Null: no limit',
    example: '500.00',
  })
  daily_limit!: string | null;

  @ApiNullable('integer', {
    description: 'The token by which it was issued. Null: on the command line, or by a sign-in',
    example: 3,
  })
  issued_by!: number | null;

  @ApiProperty({
    type: 'string',
    enum: ['staff', 'customer', 'sign-in'],
    description: 'Who issued it: staff or the command line, its customer, or a sign-in with Telegram',
    example: 'staff',
  })
  origin!: TokenOrigin;
}

@StrictRequest()
export class RevokeRequest extends ReasonRequest {
  @BooleanField({ default: false })
  descendants!: boolean;
}

export class RevokedToken extends TokenOut {
  @ApiProperty({
    type: 'array',
    items: { type: 'integer' },
    description: 'The other tokens that were revoked with it',
    example: [18, 21],
  })
  revoked_descendants!: readonly number[];
}

export class TokensPage extends PageOf(TokenOut) {}

export class IssuedToken extends TokenOut {
  @ApiProperty({
    type: 'string',
    description: 'The text of the token, which is shown this once',
    example: 'prx_…',
  })
  token!: string;
}
