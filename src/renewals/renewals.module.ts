import { Module } from '@nestjs/common';
import { OrderRecordsModule, OrdersModule } from '../orders';
import { Announcements } from './running/announcements.service';
import { RenewalPrices } from './running/renewal-prices';
import { RenewalRecords } from './running/renewal-records';
import { RenewalRun } from './running/renewal-run.service';
import { RenewalJobs } from './running/renewals.jobs';

@Module({
  imports: [OrdersModule, OrderRecordsModule],
  providers: [Announcements, RenewalPrices, RenewalRecords, RenewalRun, RenewalJobs],
  exports: [RenewalRun],
})
export class RenewalsModule {}
