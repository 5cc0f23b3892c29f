export { Order } from './order.entity';
export { OrdersModule } from './orders.module';
export { OrdersService } from './orders.service';
export { ReconciliationService } from './reconciliation.service';
export { UpstreamCall } from './upstream-call.entity';
