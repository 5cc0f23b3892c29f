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
      '`read` stands for the scopes of customers that change nothing, except `deposits:read`. ' +
      '`staff:read` is its counterpart for staff',
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

  @NetworksField({ description: 'The networks from which the token works, in CIDR notation' })
  allowed_ips!: readonly string[] | null;

  @AmountField({
    description: 'The most that orders of the token may spend per day (UTC), in roubles',
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
    'The issuer: staff or the command line, its customer, a sign-in with Telegram, or the consent of its ' +
      'customer to an agent (OAuth)',
    'staff',
  )
  origin!: TokenOrigin;
}

export class RevokeRequest extends ReasonRequest {
  @BooleanField({
    description: 'Whether to also revoke all tokens that came from this token',
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
  @ApiText('The text of the token. It is shown only once', 'prx_…')
  token!: string;
}
