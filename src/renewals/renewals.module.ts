import { Module } from '@nestjs/common';
import { CatalogModule } from '../catalog';
import { OrderRecordsModule, OrdersModule } from '../orders';
import { ProxiesModule } from '../proxies';
import { ForecastService } from './forecast.service';
import { RenewalLists } from './renewal-lists.service';
import { RenewalsRetention } from './renewals-retention';
import { RenewalsController } from './renewals.controller';
import { RulesService } from './rules.service';
import { Announcements } from './running/announcements.service';
import { DueRenewals } from './running/due-renewals.service';
import { RenewalPrices } from './running/renewal-prices';
import { RenewalRecords } from './running/renewal-records';
import { RenewalRun } from './running/renewal-run.service';
import { RenewalJobs } from './running/renewals.jobs';

@Module({
  imports: [CatalogModule, ProxiesModule, OrdersModule, OrderRecordsModule],
  controllers: [RenewalsController],
  providers: [
    RulesService,
    RenewalLists,
    ForecastService,
    Announcements,
    DueRenewals,
    RenewalPrices,
    RenewalRecords,
    RenewalRun,
    RenewalJobs,
    RenewalsRetention,
  ],
  exports: [RenewalRun],
})
export class RenewalsModule {}
