export { SalesModule } from './sales.module';
export { SalesJobsModule } from './sales-jobs.module';
export { SalesRollupService } from './sales-rollup.service';
export { InvalidSalesCursor, InvalidSalesPeriod } from './sales.errors';
export { SalesFiguresOut, SalesRowOut } from './sales.dto';
export {
  type Sales,
  SALES_DIMENSIONS,
  type SalesDimension,
  type SalesQuery,
  SalesService,
} from './sales.service';
