import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { AuthModule } from '../auth';
import { CatalogModule } from '../catalog';
import { AppConfig } from '../config';
import { Retention } from '../jobs';
import { LedgerModule } from '../ledger';
import { OrdersModule } from '../orders';
import { PricingModule } from '../pricing';
import { ProviderModule } from '../provider';
import { ProxyRefundsModule } from '../proxy-refunds';
import { StatusModule } from '../status';
import { SyncModule } from '../sync';
import { UsersModule } from '../users';
import { AuditLogController } from './audit-log/audit-log.controller';
import { AuditLogService } from './audit-log/audit-log.service';
import { StaffBalancesController } from './balances/staff-balances.controller';
import { StaffBalancesService } from './balances/staff-balances.service';
import { StaffDiscrepanciesController } from './discrepancies/staff-discrepancies.controller';
import { StaffOrdersController } from './orders/staff-orders.controller';
import { StaffPricesController } from './prices/staff-prices.controller';
import { StaffRefundsController } from './refunds/staff-refunds.controller';
import { StaffRenewalsController } from './renewals/staff-renewals.controller';
import { StaffRoutesAssertion } from './staff-routes.assertion';
import { StaffSystemController } from './system/staff-system.controller';
import { StaffSystemService } from './system/staff-system.service';
import { StaffScopesController } from './tokens/staff-scopes.controller';
import { StaffTokensController } from './tokens/staff-tokens.controller';
import { ErasureService } from './users/erasure.service';
import { StaffUsersController } from './users/staff-users.controller';
import { StaffWebhooksController } from './webhooks/staff-webhooks.controller';

@Module({
  imports: [
    DiscoveryModule,
    AuthModule,
    UsersModule,
    LedgerModule,
    OrdersModule,
    SyncModule,
    PricingModule,
    CatalogModule,
    StatusModule,
    ProviderModule,
    ProxyRefundsModule,
  ],
  // Swagger UI shows the controllers in this order.
  controllers: [
    StaffUsersController,
    StaffWebhooksController,
    StaffTokensController,
    StaffBalancesController,
    StaffOrdersController,
    StaffDiscrepanciesController,
    StaffRefundsController,
    StaffRenewalsController,
    StaffPricesController,
    StaffSystemController,
    StaffScopesController,
    AuditLogController,
  ],
  providers: [
    AuditLogService,
    ErasureService,
    StaffBalancesService,
    StaffSystemService,
    StaffRoutesAssertion,
  ],
  exports: [AuditLogService],
})
export class StaffModule {
  constructor(retention: Retention, config: AppConfig) {
    // The service's role may not delete audit log records; a function owned by the table's owner does.
    retention.addWalk(
      'staff_reads',
      config.retention.auditLogReadDays,
      `walked AS MATERIALIZED (
         SELECT removed, last, '{}'::bigint[] AS left_ids FROM forget_staff_reads($1, $2, $3)
       )`,
    );
  }
}
