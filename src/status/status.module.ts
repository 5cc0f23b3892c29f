import { Module } from '@nestjs/common';
import { InventoryRecordsModule } from '../inventory';
import { ProviderModule } from '../provider';
import { StatusService } from './status.service';

/** Without jobs, so that the command line can use it. */
@Module({
  imports: [ProviderModule, InventoryRecordsModule],
  providers: [StatusService],
  exports: [StatusService],
})
export class StatusModule {}
