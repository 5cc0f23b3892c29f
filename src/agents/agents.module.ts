import { type DynamicModule, Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { CatalogModule } from '../catalog';
import type { AppConfig } from '../config';
import { LedgerModule } from '../ledger';
import { OrdersModule } from '../orders';
import { PaymentsModule } from '../payments';
import { ProxiesModule } from '../proxies';
import { ProxyRefundsModule } from '../proxy-refunds';
import { RenewalsModule } from '../renewals';
import { UsersModule } from '../users';
import { AgentTools } from './agent-tools';
import { DepositTools } from './deposit-tools';
import { McpController } from './mcp.controller';
import { OrderTools } from './order-tools';
import { ReadingTools } from './reading-tools';

const USED = [
  AuthModule,
  UsersModule,
  LedgerModule,
  CatalogModule,
  ProxiesModule,
  OrdersModule,
  RenewalsModule,
  ProxyRefundsModule,
];

/** This module must contain no business rules, prices or SQL. */
@Module({
  controllers: [McpController],
  providers: [AgentTools, ReadingTools, OrderTools, DepositTools],
})
export class AgentsModule {
  static with({ payments }: AppConfig): DynamicModule {
    const imports = payments.provider === 'off' ? USED : [...USED, PaymentsModule];
    return { module: AgentsModule, imports };
  }
}
