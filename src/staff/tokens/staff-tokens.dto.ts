import { ApiProperty, OmitType } from '@nestjs/swagger';
import {
  ALL_PAYMENT_SCOPES,
  ALL_SCOPES,
  ALL_STAFF_SCOPES,
  isScope,
  NetworksField,
  type Scope,
  Token,
  type TokenOrigin,
} from '../../auth';
import { type Money } from '../../common';
import {
  AmountField,
  ApiChoice,
  ApiNullable,
  ApiText,
  BooleanField,
  DateTimeField,
  PageOf,
  StrictRequest,
  StringListField,
  TextField,
} from '../../http';
import { ReasonRequest } from '../fields';

export const EVERY_SCOPE: readonly Scope[] = [...ALL_SCOPES, ...ALL_PAYMENT_SCOPES, ...ALL_STAFF_SCOPES];

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

  @TextField({ description: 'The purpose of the token', absent: 'null' })
  name!: string | null;

  @DateTimeField({ absent: 'null' })
  expires_at!: Date | null;

  @NetworksField({ description: 'The networks from which the token works, in CIDR notation' })
  allowed_ips!: readonly string[] | null;

  @AmountField({ description: 'Roubles that its orders may take a day (UTC) at most', absent: 'null' })
  daily_limit!: Money | null;
}

export class TokenOut extends OmitType(Token, ['state', 'is_current', 'issued_by']) {
  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiNullable('integer', 'The token that issued it. `null` for the command line or a sign-in', 3)
  issued_by!: number | null;

  @ApiChoice(
    ['staff', 'customer', 'sign-in'],
    'The issuer: staff or the command line, its customer, or a sign-in with Telegram',
    'staff',
  )
  origin!: TokenOrigin;
}

export class RevokeRequest extends ReasonRequest {
  @BooleanField({ description: 'Whether to revoke all tokens that came from it, too', default: false })
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
  @ApiText('The text of the token, which is shown only once', 'prx_…')
  token!: string;
}
