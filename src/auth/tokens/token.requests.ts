import type { Money } from '../../common';
import {
  AmountField,
  BooleanField,
  DateTimeField,
  StrictRequest,
  StringListField,
  TextField,
} from '../../http';
import { NetworksField } from '../networks-field';
import { ALL_PAYMENT_SCOPES, type CustomerScope, READ_GROUP, USUAL_SCOPES } from '../scopes';

type Grantable = CustomerScope | typeof READ_GROUP;

const GRANTABLE: readonly Grantable[] = [READ_GROUP, ...USUAL_SCOPES, ...ALL_PAYMENT_SCOPES];

@StrictRequest()
export class NewCustomerTokenRequest {
  @StringListField({
    description:
      'Scopes of the new token. The token used for the request must have all of them. `read` stands ' +
      'for all read-only scopes except `deposits:read`',
    example: ['read'],
    atLeast: 1,
    atMost: GRANTABLE.length,
    of: {
      isValid: (text) => GRANTABLE.some((scope) => scope === text),
      type: 'enum',
      choices: GRANTABLE,
      msg: `Input should be ${GRANTABLE.map((scope) => `'${scope}'`).join(', ')}`,
    },
  })
  scopes!: readonly Grantable[];

  @TextField({ description: 'The purpose of the token', example: 'reports', absent: 'null' })
  name!: string | null;

  @DateTimeField({
    description:
      'When the token expires. It must be in the future, and not after the expiry of the token used ' +
      'for the request, which is the default',
    absent: 'null',
  })
  expires_at!: Date | null;

  @NetworksField({
    description:
      'Networks from which the token can be used, in CIDR notation. They must lie within the networks ' +
      'of the token used for the request, which are the default',
    example: ['203.0.113.0/24'],
  })
  allowed_ips!: readonly string[] | null;

  @AmountField({
    description:
      'Maximum amount that orders placed with the token can spend per day (UTC), in roubles. It cannot ' +
      'exceed the limit of the token used for the request, which is the default; the orders also count ' +
      'against that limit. A token with a daily limit cannot enable renewals, and cannot move a proxy ' +
      'to another renewal rule by changing its label or tags',
    example: '500.00',
    absent: 'null',
  })
  daily_limit!: Money | null;
}

@StrictRequest()
export class RevokeTokenQuery {
  @BooleanField({ description: 'Whether to also revoke the tokens that this token issued', default: false })
  descendants!: boolean;
}
