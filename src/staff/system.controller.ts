import { Controller, Get, Query } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiQuery, ApiTags } from '@nestjs/swagger';
import { ApiErrorResponse, ApiValidationErrorResponse } from '../http';
import { SALES_DIMENSIONS, type SalesFigures, type SalesRow, SalesService } from '../sales';
import { type Status, StatusService } from '../status';
import { type Page, toPage } from './dto/fields';
import { SalesPage, SalesQuery } from './dto/sales.dto';
import { ProviderBalanceOut, StatusOut } from './dto/status.dto';
import { StaffRoute } from './staff-route';

@ApiTags('System')
@ApiExtraModels(ProviderBalanceOut)
@Controller('staff')
export class SystemController {
  constructor(
    private readonly status: StatusService,
    private readonly sales: SalesService,
  ) {}

  @Get('status')
  @StaffRoute({
    scope: 'staff:system',
    action: 'status.read',
    summary: 'State of the service',
    description:
      'For whoever keeps the service running: the balance at the provider and how long it lasts at the present rate, orders under way and for staff ' +
      'to decide, how old the copies of the catalog are, the last run of each job, and of each replica its breakers and queues.',
  })
  @ApiOkResponse({ description: 'As it is now', type: StatusOut })
  readStatus(): Promise<Status> {
    return this.status.read();
  }

  @Get('sales')
  @StaffRoute({
    scope: 'staff:system',
    action: 'sales.read',
    summary: 'Sales, cost and margin',
    description:
      'For accounting and whoever makes the prices: what was sold and given back, what it cost and what remains, by any of day, country and version. ' +
      'An order counts on the day (UTC) on which it was closed, a refund on the day on which it was made. `from` is included and `to` is not; 366 days at most. ' +
      'By day, the last one first, then by country, then by version. Days without sales and refunds are left out.',
  })
  @ApiQuery({ name: 'from', example: '2026-11-01' })
  @ApiQuery({ name: 'to', example: '2026-12-01' })
  @ApiQuery({
    name: 'by',
    required: false,
    description: 'Any of day, country and version, separated by commas',
    example: 'day',
  })
  @ApiOkResponse({ description: 'A page of sums, with the total of the whole period', type: SalesPage })
  @ApiErrorResponse(
    400,
    'It cannot be asked so',
    'The period must end after it begins, and have 366 days at most',
    'The cursor belongs to a query by other dimensions',
  )
  @ApiValidationErrorResponse({
    type: 'missing',
    loc: ['query', 'from'],
    msg: 'Field required',
    input: null,
  })
  async readSales(
    @Query() { from, to, by, cursor, limit }: SalesQuery,
  ): Promise<Page<SalesRow, string> & { readonly total: SalesFigures }> {
    const dimensions = SALES_DIMENSIONS.filter((dimension) => by.split(',').includes(dimension));
    const { total, rows } = await this.sales.read(
      { from, to, by: dimensions },
      { after: cursor?.split('/') ?? [], limit: limit + 1 },
    );
    const cursorOf = (row: SalesRow) => dimensions.map((dimension) => row[dimension]).join('/');
    return { total, ...toPage(rows, limit, cursorOf) };
  }
}
