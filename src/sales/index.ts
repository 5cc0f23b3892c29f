export { SalesModule } from './sales.module';
export { SalesJobsModule } from './sales-jobs.module';
export { SalesRollupService } from './sales-rollup.service';
export {
  type Sales,
  SALES_DIMENSIONS,
  type SalesDimension,
  type SalesFigures,
  type SalesQuery,
  type SalesRow,
  SalesService,
} from './sales.service';
