import { Module } from '@nestjs/common';
import { BalanceHistoryService } from './balance-history.service';
import { LedgerController } from './ledger.controller';
import { LedgerService } from './ledger.service';

@Module({
  controllers: [LedgerController],
  providers: [LedgerService, BalanceHistoryService],
  exports: [LedgerService],
})
export class LedgerModule {}
