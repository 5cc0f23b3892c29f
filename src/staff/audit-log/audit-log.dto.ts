import { ApiProperty } from '@nestjs/swagger';
import {
  ApiChoice,
  ApiMoment,
  ApiNullable,
  BooleanField,
  FromField,
  IdField,
  PageOf,
  PageQuery,
  SearchField,
  ToField,
} from '../../http';
import { TARGET_PATTERN } from './audit-context';

export class ActionsQuery extends PageQuery {
  @IdField({ description: 'The member of staff', absent: 'null' })
  user_id!: number | null;

  @SearchField({ description: 'The action, e.g. `users.block`' })
  action!: string | null;

  @SearchField({ description: 'The target, e.g. `user:42`', pattern: TARGET_PATTERN })
  target!: string | null;

  @FromField()
  from!: Date | null;

  @ToField()
  to!: Date | null;

  @BooleanField({
    description: 'Whether to list only completed changes, excluding reads and refused requests',
    default: false,
  })
  changes_only!: boolean;
}

export class ActionTarget {
  @ApiProperty({ type: 'string', example: 'user' })
  type!: string;

  @ApiProperty({ type: 'string', example: '42' })
  id!: string;
}

export class TokenIssuer {
  @ApiProperty({ type: 'integer', example: 3 })
  token_id!: number;

  @ApiProperty({ type: 'integer', example: 2 })
  user_id!: number;
}

export class ActionOut {
  @ApiProperty({ type: 'integer', example: 1001 })
  id!: number;

  @ApiMoment()
  at!: Date;

  @ApiChoice(['api', 'cli'], 'Whether staff acted over HTTP or on the command line', 'api')
  via!: 'api' | 'cli';

  @ApiNullable('integer', 'The member of staff. `null` for the command line', 7)
  user_id!: number | null;

  @ApiNullable('string', "The staff member's username", 'olga')
  username!: string | null;

  @ApiNullable('integer', 'The token that was used', 12)
  token_id!: number | null;

  @ApiNullable(
    TokenIssuer,
    'The issuer of that token, and the token that the issuer used. `null` if it was issued on the ' +
      'command line',
  )
  issuer!: TokenIssuer | null;

  @ApiProperty({ type: 'string', example: 'users.block' })
  action!: string;

  @ApiNullable(ActionTarget)
  target!: ActionTarget | null;

  @ApiNullable('string', { example: 'Card reported stolen' })
  reason!: string | null;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'The query and the body of the request',
    example: { reason: 'Card reported stolen' },
  })
  request!: object;

  @ApiNullable('object', 'The changed values before the change. `null` for reads', {
    id: 42,
    blocked_at: null,
  })
  before!: object | null;

  @ApiNullable('object', 'The changed values after the change. `null` for reads', {
    id: 42,
    blocked_at: '2026-11-21T12:00:00.000Z',
  })
  after!: object | null;

  @ApiNullable('string', 'The error of a refused request. `null` if the request succeeded', null)
  refusal!: string | null;

  @ApiNullable('string', 'The IP address from which the request came', '203.0.113.7')
  ip!: string | null;

  @ApiNullable('string', '`X-Request-Id` of the request', '3c9f4a52-7d0f-4bb0-a2d3-6b1a3e0ddf0e')
  request_id!: string | null;
}

export class ActionsPage extends PageOf(ActionOut) {}
