import { ApiProperty } from '@nestjs/swagger';
import { ApiBoolean, ApiMoment, ApiNullable, ApiNullableMoment, ApiText, PageOf } from '../../http';

export class Token {
  @ApiProperty({ type: 'integer', example: 17 })
  id!: number;

  @ApiNullable('string', 'The purpose of the token', 'reports')
  name!: string | null;

  @ApiProperty({ type: 'array', items: { type: 'string' }, example: ['profile:read', 'proxies:read'] })
  scopes!: readonly string[];

  @ApiProperty({ type: 'string', enum: ['active', 'expired', 'revoked'], example: 'active' })
  state!: 'active' | 'expired' | 'revoked';

  @ApiBoolean('Whether this is the token used for the request', false)
  is_current!: boolean;

  @ApiMoment()
  created_at!: Date;

  @ApiNullableMoment('`null` if the token does not expire', '2100-01-01T00:00:00.000Z')
  expires_at!: Date | null;

  @ApiNullableMoment('When the token was revoked', null)
  revoked_at!: Date | null;

  @ApiNullableMoment('When the token was last used, to the minute', null)
  last_used_at!: Date | null;

  @ApiNullable(
    'texts',
    'Networks from which the token can be used. `null` if it can be used from any network',
    ['203.0.113.0/24'],
  )
  allowed_ips!: readonly string[] | null;

  @ApiNullable(
    'string',
    'Maximum amount that orders placed with the token can spend per day (UTC), in roubles. `null` if ' +
      'there is no limit',
    '500.00',
  )
  daily_limit!: string | null;

  @ApiNullable(
    'integer',
    "The token that issued this one. `null` if this token was not issued by one of the user's tokens",
    3,
  )
  issued_by!: number | null;
}

export class CreatedToken extends Token {
  @ApiText('The token value. It is shown only once', 'prx_…')
  token!: string;
}

export class TokenList extends PageOf(Token) {}
