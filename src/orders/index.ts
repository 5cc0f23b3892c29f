export { Order } from './order.entity';
export { OrdersModule } from './orders.module';
export { OrdersService } from './orders.service';
export { Orphan } from './orphan.entity';
export { ReconciliationService } from './reconciliation.service';
export { SweepService } from './sweep.service';
export { TAG_PREFIX_SQL } from './tag';
export { UpstreamCall } from './upstream-call.entity';
