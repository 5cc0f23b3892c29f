import { Module } from '@nestjs/common';
import { CatalogModule } from '../catalog';
import { AppConfig } from '../config';
import { Retention } from '../jobs';
import { OrdersModule } from '../orders';
import { ProxiesModule } from '../proxies';
import { ForecastService } from './forecast.service';
import { RenewalsController } from './renewals.controller';
import { RulesService } from './rules.service';
import { DueRenewals } from './running/due-renewals';
import { RenewalRecords } from './running/renewal-records';
import { RenewalReminders } from './running/renewal-reminders';
import { RenewalJob } from './running/renewal.job';

@Module({
  imports: [CatalogModule, ProxiesModule, OrdersModule],
  controllers: [RenewalsController],
  providers: [RulesService, ForecastService, RenewalReminders, DueRenewals, RenewalRecords, RenewalJob],
  exports: [ForecastService, RenewalRecords],
})
export class RenewalsModule {
  constructor(retention: Retention, records: RenewalRecords, { retention: { historyDays } }: AppConfig) {
    // Renewals with an order are accounting data, so they are kept.
    retention.addOldRows({
      name: 'failed_renewals',
      table: 'renewals',
      time: 'created_at',
      days: historyDays,
      stays: "state IN ('planned', 'placed', 'skipped')",
      removal: `DELETE FROM renewals WHERE id = ANY (ARRAY(SELECT id FROM old)) AND state = 'failed'`,
    });
    if (historyDays > 0) {
      retention.add<number>('renewal_rules', (cursor) => records.forgetRules(historyDays, cursor ?? 0));
    }
  }
}
