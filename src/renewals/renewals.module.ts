import { Module } from '@nestjs/common';
import { CatalogModule } from '../catalog';
import { OrdersModule } from '../orders';
import { ProxiesModule } from '../proxies';
import { ForecastService } from './forecast.service';
import { RenewalsRetention } from './renewals-retention';
import { RenewalsController } from './renewals.controller';
import { RulesService } from './rules.service';
import { Announcements } from './running/announcements.service';
import { DueRenewals } from './running/due-renewals.service';
import { RenewalRecords } from './running/renewal-records';
import { RenewalRun } from './running/renewal-run.service';

@Module({
  imports: [CatalogModule, ProxiesModule, OrdersModule],
  controllers: [RenewalsController],
  providers: [
    RulesService,
    ForecastService,
    Announcements,
    DueRenewals,
    RenewalRecords,
    RenewalRun,
    RenewalsRetention,
  ],
})
export class RenewalsModule {}
