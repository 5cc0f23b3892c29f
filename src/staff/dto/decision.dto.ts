import { ApiProperty } from '@nestjs/swagger';
import { type Money } from '../../common';
import { AmountField, StringField } from '../../http';
import type { OrphanState } from '../../orders';
import type { OrderDecision } from '../staff-decisions.service';
import { ApiItems, ApiNextCursor, ApiNullable, IdField, PageQuery, TextField } from './fields';

export const ORDER_DECISIONS = ['deliver', 'refund'] as const satisfies readonly OrderDecision[];
export const ORPHAN_MARKS = ['open', 'written-off'] as const;
export const ORPHAN_STATES = ['open', 'assigned', 'written-off'] as const satisfies readonly OrphanState[];
const oneOf = (values: readonly string[]): string => `^(${values.join('|')})$`;

export class DecisionRequest {
  @StringField({ pattern: oneOf(ORDER_DECISIONS) })
  decision!: OrderDecision;

  @TextField()
  reason!: string;
}

export class RefundRequest {
  @AmountField({ optional: true })
  amount!: Money | null;

  @TextField()
  reason!: string;

  @TextField({ optional: true })
  reference!: string | null;
}

export class AssignmentRequest {
  @IdField()
  order_id!: number;

  @TextField()
  reason!: string;
}

export class MarkRequest {
  @StringField({ pattern: oneOf(ORPHAN_MARKS) })
  state!: 'open' | 'written-off';

  @TextField()
  reason!: string;
}

export class OrphansQuery extends PageQuery {
  @ApiProperty({ description: 'What became of them' })
  @StringField({ optional: true, pattern: oneOf(ORPHAN_STATES) })
  state!: OrphanState | null;

  @ApiProperty({ description: 'The whole tag under which the provider has it' })
  @StringField({ optional: true, maxLength: 100 })
  tag!: string | null;
}

const ApiMoment = () =>
  ApiProperty({ type: 'string', format: 'date-time', example: '2026-11-21T12:00:00.000Z' });

export class OrphanOut {
  @ApiProperty({ type: 'integer', example: 3 })
  id!: number;

  @ApiProperty({ type: 'string', enum: ORPHAN_STATES, example: 'open' })
  state!: OrphanState;

  @ApiProperty({ type: 'string', example: 'px6' })
  provider!: string;

  @ApiProperty({ type: 'string', description: 'The provider’s number of it', example: '28451' })
  provider_proxy_id!: string;

  @ApiProperty({ type: 'string', description: 'Under which it was bought', example: 'prs.a1b2c3.u42.o815' })
  tag!: string;

  @ApiNullable('integer', { description: 'The order that has this tag, if there is one', example: 815 })
  tag_order_id!: number | null;

  @ApiNullable('integer', { description: 'Whose order that is', example: 42 })
  tag_user_id!: number | null;

  @ApiProperty({ type: 'string', example: '45.90.1.7' })
  host!: string;

  @ApiProperty({ type: 'string', example: '8080' })
  port!: string;

  @ApiProperty({ type: 'string', example: 'http' })
  proxy_type!: string;

  @ApiNullable('string', { example: 'ru' })
  country!: string | null;

  @ApiNullable('string', { example: '6' })
  version!: string | null;

  @ApiMoment()
  date_start!: Date;

  @ApiMoment()
  date_end!: Date;

  @ApiMoment()
  found_at!: Date;

  @ApiNullable('string', { format: 'date-time', description: 'When staff decided', example: null })
  resolved_at!: Date | null;

  @ApiNullable('integer', { description: 'The order that it was assigned to', example: null })
  order_id!: number | null;
}

export class OrphansPage {
  @ApiItems(() => OrphanOut)
  items!: readonly OrphanOut[];

  @ApiNextCursor()
  next_cursor!: number | null;
}
