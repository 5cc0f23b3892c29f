import { ApiProperty } from '@nestjs/swagger';
import {
  ApiNullable,
  BooleanField,
  CURSOR,
  DateField,
  IntegerField,
  LimitField,
  NEXT_CURSOR,
  type PageRequest,
  StrictRequest,
  StringField,
} from '../../http';
import { SalesFiguresOut, SalesRowOut } from '../../ledger';
import { ReasonRequest } from '../fields';

export class WithdrawMissingProxiesRequest extends ReasonRequest {
  @IntegerField({
    description: 'The number of missing proxies, as GET /staff/missing-proxies showed it',
    greaterThan: 0,
    atMost: Number.MAX_SAFE_INTEGER,
  })
  proxies!: number;
}

export class EndMaintenanceRequest extends ReasonRequest {
  @BooleanField({
    description:
      'Ends maintenance that the service began at startup, even if not everything is decided. Only for a ' +
      'database that was moved to another server or failed over, not restored to an earlier point in time',
    default: false,
  })
  nothing_was_lost!: boolean;
}

/** Matches one to three dimensions of a row, separated by slashes. */
const CURSOR_PATTERN = String.raw`^[^\x00-\x1f\x2f\x7f-\x9f]+(\x2f[^\x00-\x1f\x2f\x7f-\x9f]+){0,2}$`;

@StrictRequest()
export class SalesQuery implements PageRequest<string> {
  @DateField({
    description: 'The first day (UTC), e.g. 2026-11-01. Defaults to the last day',
    absent: 'null',
  })
  from!: string | null;

  @DateField({
    description: 'The last day, inclusive. The period can span at most 366 days. Defaults to today',
    absent: 'null',
  })
  to!: string | null;

  @StringField({
    description: 'Any of day, country and version, comma-separated',
    example: 'day',
    pattern: '^(day|country|version)(,(day|country|version))*$',
    default: 'day',
  })
  by!: string;

  @StringField({ description: CURSOR, absent: 'null', maxLength: 50, pattern: CURSOR_PATTERN })
  cursor!: string | null;

  @LimitField()
  limit!: number;
}

export class SalesPage {
  @ApiProperty({
    type: () => SalesFiguresOut,
    description: 'The totals for the whole period, which are the same on every page',
  })
  total!: SalesFiguresOut;

  @ApiProperty({ type: () => SalesRowOut, isArray: true })
  items!: readonly SalesRowOut[];

  @ApiNullable('string', NEXT_CURSOR, '2026-11-20')
  next_cursor!: string | null;
}
