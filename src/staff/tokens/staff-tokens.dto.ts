import { ApiProperty } from '@nestjs/swagger';
import {
  ALL_PAYMENT_SCOPES,
  ALL_SCOPES,
  ALL_STAFF_SCOPES,
  isScope,
  NetworksField,
  READ_GROUP,
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
  OmitType,
  PageOf,
  StrictRequest,
  StringListField,
  TextField,
} from '../../http';
import { ReasonRequest } from '../fields';

export const EVERY_SCOPE: readonly Scope[] = [...ALL_SCOPES, ...ALL_PAYMENT_SCOPES, ...ALL_STAFF_SCOPES];
type ScopeChoice = Scope | typeof READ_GROUP;
const CHOICES: readonly ScopeChoice[] = [READ_GROUP, ...EVERY_SCOPE];

@StrictRequest()
export class NewTokenRequest {
  @StringListField({
    description:
      'The scopes of the token. `read` stands for all read-only customer scopes except ' +
      '`deposits:read`. `staff:read` is its counterpart for staff',
    atLeast: 1,
    atMost: CHOICES.length,
    of: {
      isValid: (text) => text === READ_GROUP || isScope(text),
      type: 'enum',
      choices: CHOICES,
      msg: `Input should be ${CHOICES.map((scope) => `'${scope}'`).join(', ')}`,
    },
  })
  scopes!: readonly ScopeChoice[];

  @TextField({ description: 'The purpose of the token', absent: 'null' })
  name!: string | null;

  @DateTimeField({ absent: 'null' })
  expires_at!: Date | null;

  @NetworksField({ description: 'Networks from which the token can be used, in CIDR notation' })
  allowed_ips!: readonly string[] | null;

  @AmountField({
    description: 'Maximum amount that orders placed with the token can spend per day (UTC), in roubles',
    absent: 'null',
  })
  daily_limit!: Money | null;
}

export class TokenOut extends OmitType(Token, ['state', 'is_current', 'issued_by']) {
  @ApiProperty({ type: 'integer', example: 42 })
  user_id!: number;

  @ApiNullable('integer', 'The token that issued this one. `null` for the command line or a sign-in', 3)
  issued_by!: number | null;

  @ApiChoice(
    ['staff', 'customer', 'sign-in', 'oauth'],
    'The issuer of the token: staff or the command line, its customer, a sign-in with Telegram, or its ' +
      "customer's consent to an agent (OAuth)",
    'staff',
  )
  origin!: TokenOrigin;
}

export class RevokeRequest extends ReasonRequest {
  @BooleanField({
    description: 'Whether to also revoke all tokens that were issued from this token, directly or indirectly',
    default: false,
  })
  descendants!: boolean;
}

export class RevokedToken extends TokenOut {
  @ApiProperty({
    type: 'array',
    items: { type: 'integer' },
    description: 'The other tokens that were revoked with this one',
    example: [18, 21],
  })
  revoked_descendants!: readonly number[];
}

export class TokensPage extends PageOf(TokenOut) {}

export class IssuedToken extends TokenOut {
  @ApiText('The token value. It is shown only once', 'prx_…')
  token!: string;
}
