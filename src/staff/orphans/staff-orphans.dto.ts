import { ApiProperty } from '@nestjs/swagger';
import { ChoiceField, IdField, PageOf, PageQuery, SearchField, StrictRequest, TextField } from '../../http';
import { ORPHAN_STATES, OrphanOut, type OrphanState } from '../../orders';

export const ORPHAN_MARKS = ['open', 'written-off'] as const;
export type OrphanMark = (typeof ORPHAN_MARKS)[number];

@StrictRequest()
export class AssignmentRequest {
  @IdField()
  order_id!: number;

  @TextField()
  reason!: string;
}

@StrictRequest()
export class MarkRequest {
  @ChoiceField(ORPHAN_MARKS)
  state!: OrphanMark;

  @TextField()
  reason!: string;
}

export class OrphansQuery extends PageQuery {
  @ApiProperty({ description: 'What was decided about them' })
  @ChoiceField(ORPHAN_STATES, { optional: true })
  state!: OrphanState | null;

  @ApiProperty({ description: 'The whole tag under which the provider lists them' })
  @SearchField()
  tag!: string | null;
}

export class OrphansPage extends PageOf(OrphanOut) {}
