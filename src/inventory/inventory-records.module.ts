import { Module } from '@nestjs/common';
import { OrderRecordsModule } from '../orders';
import { ForgottenOrdersService } from './recovery/forgotten-orders.service';
import { RecoveryService } from './recovery/recovery.service';
import { OrphansService } from './sweep/orphans.service';
import { WithdrawalsService } from './sweep/withdrawals.service';

const SERVICES = [ForgottenOrdersService, OrphansService, RecoveryService, WithdrawalsService];

/** What staff decide of what sweeps found, without routes and jobs: for the service and the command line. */
@Module({ imports: [OrderRecordsModule], providers: SERVICES, exports: SERVICES })
export class InventoryRecordsModule {}
