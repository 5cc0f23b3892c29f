import { Controller, Get, Query } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import { toPage } from '../../http';
import { SALES_DIMENSIONS, type SalesRowOut, SalesService } from '../../sales';
import { ProviderBalanceOut, type StatusOut, StatusService } from '../../status';
import { StaffRoute } from '../staff-route';
import { ReadSalesDocs, ReadStatusDocs } from './staff-system.docs';
import { type SalesPage, SalesQuery } from './staff-system.dto';

@ApiTags('System')
@ApiExtraModels(ProviderBalanceOut)
@Controller('staff')
export class StaffSystemController {
  constructor(
    private readonly status: StatusService,
    private readonly sales: SalesService,
  ) {}

  @Get('status')
  @ReadStatusDocs()
  @StaffRoute({ scope: 'staff:system', action: 'status.read' })
  readStatus(): Promise<StatusOut> {
    return this.status.read();
  }

  @Get('sales')
  @ReadSalesDocs()
  @StaffRoute({ scope: 'staff:system', action: 'sales.read' })
  async readSales(@Query() { from, to, by, cursor, limit }: SalesQuery): Promise<SalesPage> {
    const dimensions = SALES_DIMENSIONS.filter((dimension) => by.split(',').includes(dimension));
    const page = { after: cursor?.split('/') ?? [], limit: limit + 1 };
    const { total, rows } = await this.sales.read({ from, to, by: dimensions }, page);
    const cursorOf = (row: SalesRowOut) => dimensions.map((dimension) => row[dimension]).join('/');
    return { total, ...toPage(rows, limit, cursorOf) };
  }
}
