import { ApiProperty } from '@nestjs/swagger';
import { DateTimeField, StringField } from '../../http';
import { type Target, TARGET_PATTERN } from '../act';
import { ApiItems, ApiNextCursor, ApiNullable, IdField, PageQuery, PRINTABLE } from './fields';

export class ActionsQuery extends PageQuery {
  @ApiProperty({ description: 'Who did it' })
  @IdField({ optional: true })
  user_id!: number | null;

  @ApiProperty({ description: 'What was done: `users.block`' })
  @StringField({ optional: true, maxLength: 100, pattern: PRINTABLE })
  action!: string | null;

  @ApiProperty({ description: 'What it was done to: `user:42`' })
  @StringField({ optional: true, maxLength: 100, pattern: TARGET_PATTERN })
  target!: string | null;

  @ApiProperty({ description: 'A moment with its offset, e.g. 2026-11-01T00:00:00Z' })
  @DateTimeField({ optional: true })
  from!: Date | null;

  @ApiProperty({ description: 'The moment after the last' })
  @DateTimeField({ optional: true })
  to!: Date | null;
}

export class ActionTarget {
  @ApiProperty({ type: 'string', example: 'user' })
  type!: string;

  @ApiProperty({ type: 'string', example: '42' })
  id!: string;
}

/** A line of the log. */
export class ActionOut {
  @ApiProperty({ type: 'integer', example: 1001 })
  id!: number;

  @ApiProperty({ type: 'string', format: 'date-time', example: '2026-11-21T12:00:00.000Z' })
  at!: Date;

  @ApiProperty({ type: 'string', enum: ['api', 'cli'], example: 'api' })
  via!: 'api' | 'cli';

  @ApiNullable('integer', { description: 'Who did it; null on the command line', example: 7 })
  user_id!: number | null;

  @ApiNullable('integer', { description: 'With which token', example: 12 })
  token_id!: number | null;

  @ApiProperty({ type: 'string', example: 'users.block' })
  action!: string;

  @ApiProperty({ anyOf: [{ $ref: '#/components/schemas/ActionTarget' }, { type: 'null' }] })
  target!: Target | null;

  @ApiNullable('string', { example: 'Card reported stolen' })
  reason!: string | null;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'What was asked for',
    example: { reason: 'Card reported stolen' },
  })
  request!: object;

  @ApiNullable('object', {
    description: 'What was changed, before; null for reads',
    example: { id: 42, blocked_at: null },
  })
  before!: object | null;

  @ApiNullable('object', {
    description: 'What was changed, after; null for reads',
    example: { id: 42, blocked_at: '2026-11-21T12:00:00.000Z' },
  })
  after!: object | null;

  @ApiNullable('string', { description: 'The address that it came from', example: '203.0.113.7' })
  ip!: string | null;

  @ApiNullable('string', { example: '3c9f4a52-7d0f-4bb0-a2d3-6b1a3e0ddf0e' })
  request_id!: string | null;
}

export class ActionsPage {
  @ApiItems(() => ActionOut)
  items!: readonly ActionOut[];

  @ApiNextCursor()
  next_cursor!: number | null;
}
