import { Module } from '@nestjs/common';
import { Jobs } from '../jobs';
import { BalanceHistoryService } from './balance-history.service';
import { LedgerController } from './ledger.controller';
import { LedgerService } from './ledger.service';
import { SalesRollupService } from './sales/sales-rollup.service';
import { SalesService } from './sales/sales.service';

const ROLL_UP_SECONDS = 600;

@Module({
  controllers: [LedgerController],
  providers: [LedgerService, BalanceHistoryService, SalesService, SalesRollupService],
  exports: [LedgerService, BalanceHistoryService, SalesService],
})
export class LedgerModule {
  constructor(jobs: Jobs, rollup: SalesRollupService) {
    jobs.run({ name: 'sales-days', everySeconds: ROLL_UP_SECONDS, execute: (run) => rollup.rollUp(run) });
  }
}
