import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Account } from './account.entity';
import { BalanceHistoryService } from './balance-history.service';
import { LedgerEntry } from './ledger-entry.entity';
import { LedgerController } from './ledger.controller';
import { LedgerService } from './ledger.service';

@Module({
  imports: [TypeOrmModule.forFeature([Account, LedgerEntry])],
  controllers: [LedgerController],
  providers: [LedgerService, BalanceHistoryService],
  exports: [LedgerService],
})
export class LedgerModule {}
