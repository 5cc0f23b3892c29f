import { Module } from '@nestjs/common';
import { OrderRecordsModule } from '../orders';
import { ProviderModule } from '../provider';
import { StatusService } from './status.service';

/** Without jobs, so that the command line can use it. */
@Module({
  imports: [ProviderModule, OrderRecordsModule],
  providers: [StatusService],
  exports: [StatusService],
})
export class StatusModule {}
