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
  @DateTimeField({
    description: 'The beginning of the period, with its offset, e.g. 2026-11-01T00:00:00Z',
    absent: 'null',
  })
  from!: Date | null;

  @DateTimeField({
    description: 'The end of the period, which is not included, e.g. 2026-12-01T00:00:00Z',
    absent: 'null',
  })
  to!: Date | null;

  @ChoiceField(SHOWN_KINDS, { description: 'Only changes of this kind', absent: 'null' })
  kind!: ShownKind | null;

  @IdField({ description: 'Only what belongs to this order', absent: 'null' })
  order_id!: number | null;
}

@StrictRequest()
export class LedgerQuery extends LedgerFilterQuery implements PageRequest {
  @IdField({ description: CURSOR, absent: 'null' })
  cursor!: number | null;

  @LimitField()
  limit!: number;

  @ChoiceField(FORMATS, {
    description: '`csv` is `GET /ledger/csv`, for any page',
    deprecated: true,
    absent: 'null',
  })
  format!: (typeof FORMATS)[number] | null;
}
