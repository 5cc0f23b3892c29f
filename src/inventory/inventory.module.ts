import { Module } from '@nestjs/common';
import { OrderRecordsModule } from '../orders';
import { ProviderModule } from '../provider';
import { ProxiesModule } from '../proxies';
import { InventoryRecordsModule } from './inventory-records.module';
import { InventoryRetention } from './inventory-retention';
import { InventoryJobs } from './inventory.jobs';
import { SweepService } from './sweep/sweep.service';
import { TypeChangeController } from './type-change/type-change.controller';
import { TypeChangeService } from './type-change/type-change.service';

@Module({
  imports: [InventoryRecordsModule, OrderRecordsModule, ProviderModule, ProxiesModule],
  controllers: [TypeChangeController],
  providers: [InventoryJobs, InventoryRetention, SweepService, TypeChangeService],
  exports: [SweepService],
})
export class InventoryModule {}
