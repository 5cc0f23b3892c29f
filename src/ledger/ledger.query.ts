import {
  ChoiceField,
  CURSOR,
  ExcelField,
  FromField,
  IdField,
  LimitField,
  type PageRequest,
  StrictRequest,
  ToField,
} from '../http';
import { SHOWN_KINDS, type ShownKind } from './shown-kind';

const FORMATS = ['json', 'csv'] as const;

@StrictRequest()
export class LedgerFilterQuery {
  @FromField()
  from!: Date | null;

  @ToField()
  to!: Date | null;

  @ChoiceField(SHOWN_KINDS, { description: 'Only changes of this kind', absent: 'null' })
  kind!: ShownKind | null;

  @IdField({ description: 'Only changes for this order', absent: 'null' })
  order_id!: number | null;
}

@StrictRequest()
export class LedgerFileQuery extends LedgerFilterQuery {
  @ExcelField()
  excel!: boolean;
}

@StrictRequest()
export class LedgerQuery extends LedgerFilterQuery implements PageRequest {
  @IdField({ description: CURSOR, absent: 'null' })
  cursor!: number | null;

  @LimitField()
  limit!: number;

  @ChoiceField(FORMATS, {
    description: '`csv` returns the response of `GET /ledger/csv`',
    deprecated: true,
    absent: 'null',
  })
  format!: (typeof FORMATS)[number] | null;
}
