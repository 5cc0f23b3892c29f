import { ApiInteger, ApiNullable, ApiRoubles } from '../../http';

/** Amounts are summed before they are rounded to kopecks. */
export class SalesFiguresOut {
  @ApiInteger('Number of orders paid in full or in part', 120)
  orders!: number;

  @ApiInteger('Number of prolongations among these orders', 20)
  prolongations!: number;

  @ApiInteger('Number of proxies bought', 340)
  proxies!: number;

  @ApiRoubles('Amount paid for orders, in roubles', '8527.20')
  sales!: string;

  @ApiRoubles('Amount refunded by staff, in roubles, on the day of the refund', '25.08')
  refunds!: string;

  @ApiRoubles('Amount refunded for proxies that did not work, in roubles, on the day of the refund', '12.54')
  refunds_by_rule!: string;

  @ApiRoubles('Amount charged by the provider, in roubles', '7106.00')
  cost!: string;

  @ApiRoubles('Margin in roubles: sales less refunds and cost, rounded at the end', '1383.58')
  margin!: string;
}

export class SalesRowOut extends SalesFiguresOut {
  @ApiNullable('string', {
    format: 'date',
    description: 'The day (UTC). `null` if the sums are not grouped by day',
    example: '2026-11-20',
  })
  day!: string | null;

  @ApiNullable('string', 'The country. `null` if the sums are not grouped by country', null)
  country!: string | null;

  @ApiNullable('string', '6, 4 or 4s (IPv4 shared). `null` if the sums are not grouped by version', null)
  version!: string | null;
}
