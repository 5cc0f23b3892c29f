import { ApiProperty } from '@nestjs/swagger';
import {
  ChoiceField,
  CURSOR,
  DateTimeField,
  IdField,
  LimitField,
  type PageRequest,
  StrictRequest,
} from '../http';
import { SHOWN_KINDS, type ShownKind } from './shown-kind';

const FORMATS = ['json', 'csv'] as const;

@StrictRequest()
export class LedgerFilterQuery {
  @ApiProperty({ description: 'The beginning of the period, with its offset, e.g. 2026-11-01T00:00:00Z' })
  @DateTimeField({ optional: true })
  from!: Date | null;

  @ApiProperty({ description: 'The end of the period, which is not included, e.g. 2026-12-01T00:00:00Z' })
  @DateTimeField({ optional: true })
  to!: Date | null;

  @ApiProperty({ description: 'Only changes of this kind' })
  @ChoiceField(SHOWN_KINDS, { optional: true })
  kind!: ShownKind | null;

  @ApiProperty({ description: 'Only what belongs to this order' })
  @IdField({ optional: true })
  order_id!: number | null;
}

@StrictRequest()
export class LedgerQuery extends LedgerFilterQuery implements PageRequest {
  @ApiProperty({ description: CURSOR })
  @IdField({ optional: true })
  cursor!: number | null;

  @LimitField()
  limit!: number;

  @ApiProperty({ description: '`csv` is `GET /ledger/csv`, whatever page is named', deprecated: true })
  @ChoiceField(FORMATS, { optional: true })
  format!: (typeof FORMATS)[number] | null;
}
