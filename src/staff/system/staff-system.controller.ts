import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { toPage } from '../../http';
import {
  InvalidSalesCursor,
  InvalidSalesPeriod,
  SALES_DIMENSIONS,
  type SalesRowOut,
  SalesService,
} from '../../ledger';
import { StatusOut, StatusService } from '../../status';
import { StaffRoute } from '../staff-route';
import { SalesPage, SalesQuery } from './staff-system.dto';

@ApiTags('System')
@Controller('staff')
export class StaffSystemController {
  constructor(
    private readonly status: StatusService,
    private readonly sales: SalesService,
  ) {}

  @Get('status')
  @StaffRoute({
    scope: 'staff:system',
    action: 'status.read',
    summary: 'Show the state of the service',
    description:
      'For operators: our balance at the provider and how long it lasts at the current rate, the ' +
      'open orders and those for staff to decide, the age of the catalog, the last run of each ' +
      'job, and the circuit breakers and queues of each replica.',
    response: { description: 'The present state', type: StatusOut },
  })
  readStatus(): Promise<StatusOut> {
    return this.status.read();
  }

  @Get('sales')
  @StaffRoute({
    scope: 'staff:system',
    action: 'sales.read',
    summary: 'Show sales, cost and margin',
    description:
      'For accounting and pricing: sales, refunds, cost and margin by any of day, country and ' +
      'version. An order counts on the day (UTC) on which it was closed, a refund on the day on which ' +
      'it was made. `from` is inclusive and `to` exclusive; a period has at most 366 days. The latest ' +
      'day comes first, then countries and versions follow in order. Days without sales and refunds ' +
      'are omitted.',
    response: { description: 'A page of sums, with the total of the whole period', type: SalesPage },
    errors: { 400: ['The period or the cursor is invalid', InvalidSalesPeriod, InvalidSalesCursor] },
  })
  async readSales(@Query() { from, to, by, cursor, limit }: SalesQuery): Promise<SalesPage> {
    const dimensions = SALES_DIMENSIONS.filter((dimension) => by.split(',').includes(dimension));
    const page = { after: cursor?.split('/') ?? [], limit: limit + 1 };
    const { total, rows } = await this.sales.read({ from, to, by: dimensions }, page);
    const cursorOf = (row: SalesRowOut) => dimensions.map((dimension) => row[dimension]).join('/');
    return { total, ...toPage(rows, limit, cursorOf) };
  }
}
