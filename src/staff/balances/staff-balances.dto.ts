import { ApiProperty } from '@nestjs/swagger';
import { type Money } from '../../common';
import {
  AmountField,
  ApiBoolean,
  ApiInteger,
  ApiMoment,
  ApiNullable,
  ApiRoubles,
  ExcelField,
  FromField,
  PageOf,
  StrictRequest,
  TextField,
  ToField,
} from '../../http';
import { LEDGER_ENTRY_KINDS, type LedgerEntryKind, PostedEntryOut } from '../../ledger';
import { ORDER_KINDS, type OrderKind, type OrderState } from '../../orders';
import { ReasonRequest } from '../fields';

export class PostingRequest extends ReasonRequest {
  @AmountField({ description: 'Roubles' })
  amount!: Money;

  @TextField({
    description: 'The document that justifies the entry, such as an invoice or a ticket',
    absent: 'null',
  })
  reference!: string | null;
}

export class PostingOut extends PostedEntryOut {
  @ApiBoolean('Whether an earlier request with this Idempotency-Key created the entry', false)
  replayed!: boolean;
}

@StrictRequest()
export class StatementQuery {
  @FromField({})
  from!: Date;

  @ToField({})
  to!: Date;

  @ExcelField()
  excel!: boolean;
}

export class CausingOrder {
  @ApiProperty({ type: 'integer', example: 815 })
  id!: number;

  @ApiProperty({ type: 'string', enum: ORDER_KINDS, example: 'purchase' })
  kind!: OrderKind;

  @ApiProperty({ type: 'string', example: 'completed' })
  state!: OrderState;

  @ApiProperty({ type: 'string', format: 'uri-reference', example: '/staff/orders/815' })
  link!: string;
}

export class CausingAction {
  @ApiInteger("The id of the entry's record in the audit log", 1001)
  id!: number;

  @ApiProperty({ type: 'string', enum: ['api', 'cli'], example: 'api' })
  via!: 'api' | 'cli';

  @ApiNullable('integer', 'The member of staff. `null` for the command line', 7)
  user_id!: number | null;

  @ApiNullable('string', "The staff member's username", 'olga')
  username!: string | null;
}

export class LedgerEntryOut {
  @ApiProperty({ type: 'integer', example: 1234 })
  id!: number;

  @ApiInteger("The sequence number of the entry among the user's entries, starting at 1", 3)
  seq!: number;

  @ApiProperty({ type: 'string', enum: LEDGER_ENTRY_KINDS, example: 'hold' })
  kind!: LedgerEntryKind;

  @ApiRoubles('Change in the available balance, in roubles', '-25.08')
  available_delta!: string;

  @ApiRoubles('Change in the held amount, in roubles', '25.08')
  held_delta!: string;

  @ApiRoubles('Available balance after the entry, in roubles', '974.92')
  available_after!: string;

  @ApiRoubles('Amount held after the entry, in roubles', '25.08')
  held_after!: string;

  @ApiNullable(CausingOrder)
  order!: CausingOrder | null;

  @ApiNullable(CausingAction)
  action!: CausingAction | null;

  @ApiNullable('string', { example: null })
  reason!: string | null;

  @ApiNullable('string', { example: null })
  reference!: string | null;

  @ApiMoment()
  created_at!: Date;
}

export class LedgerPage extends PageOf(LedgerEntryOut) {}
