import { ApiProperty } from '@nestjs/swagger';
import { DateField, StringField } from '../../http';
import { ApiItems, ApiNullable, LimitField } from './fields';

export class SalesQuery {
  @ApiProperty({ description: 'The first day, of UTC, e.g. 2026-11-01' })
  @DateField()
  from!: string;

  @ApiProperty({ description: 'The day after the last, 366 days later at most' })
  @DateField()
  to!: string;

  /** Separated by commas. */
  @StringField({ pattern: '^(day|country|version)(,(day|country|version))*$', default: 'day' })
  by!: string;

  @ApiProperty({ description: '`next_cursor` of the page before; without it: the first page' })
  @StringField({ optional: true, maxLength: 50, pattern: '^[^/]+(/[^/]+){0,2}$' })
  cursor!: string | null;

  @ApiProperty({ description: 'How many there are on a page at most' })
  @LimitField()
  limit!: number;
}

const ApiAmount = (description: string, example: string) =>
  ApiProperty({ type: 'string', description: `Roubles ${description}`, example });

export class SalesFiguresOut {
  @ApiProperty({ type: 'integer', description: 'That were paid, whole or in part', example: 120 })
  orders!: number;

  @ApiProperty({ type: 'integer', description: 'Of the orders', example: 20 })
  prolongations!: number;

  @ApiProperty({ type: 'integer', description: 'That were bought', example: 340 })
  proxies!: number;

  @ApiAmount('that orders took', '8527.20')
  sales!: string;

  @ApiAmount('that staff gave back, on the day on which they did', '25.08')
  refunds!: string;

  @ApiAmount('that the provider took', '7106.00')
  cost!: string;

  @ApiAmount('that remain: sales less refunds and cost, rounded at the end', '1396.12')
  margin!: string;
}

export class SalesRowOut extends SalesFiguresOut {
  @ApiNullable('string', {
    format: 'date',
    description: 'Of UTC; null when it was not asked for',
    example: '2026-11-20',
  })
  day!: string | null;

  @ApiNullable('string', { description: 'null when it was not asked for', example: null })
  country!: string | null;

  @ApiNullable('string', {
    description: '6, 4 or 4s (IPv4 shared); null when it was not asked for',
    example: null,
  })
  version!: string | null;
}

export class SalesPage {
  @ApiProperty({ type: () => SalesFiguresOut, description: 'Of the whole period, on every page' })
  total!: SalesFiguresOut;

  @ApiItems(() => SalesRowOut)
  items!: readonly SalesRowOut[];

  @ApiNullable('string', {
    description: 'The `cursor` of the next page; null on the last one',
    example: '2026-11-20',
  })
  next_cursor!: string | null;
}
