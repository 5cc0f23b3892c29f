export { BulkProlongations } from './bulk/bulk-prolongations';
export { BulkProxyOut } from './bulk/bulk.dto';
export { DispatcherService } from './dispatch/dispatcher.service';
export { OrderWaiters } from './dispatch/order-waiters';
export { longestOrderMs } from './longest-order';
export {
  IS_RENEWAL_SQL,
  OPEN_STATES,
  type OpenState,
  ORDER_KINDS,
  ORDER_STATES,
  type OrderKind,
  type OrderState,
  statesShownAs,
  UNATTENDED_STATES,
} from './order-states';
export {
  bulkOrderKeySql,
  type Idempotency,
  renewalKey,
  renewalKeySql,
  requireIdempotency,
} from './order-keys';
export { OrderQueries, PURCHASE_REFERENCE_SQL, REFERENCE_PREFIX_SQL } from './order-queries';
export {
  IdempotencyKeyReused,
  NothingToDeliver,
  OrderNotFound,
  OrderNotInReview,
  PROXY_OF_ANOTHER,
  ProxyBelongsToAnother,
  OrderRefundTooLarge,
} from './orders.errors';
export { OrdersModule } from './orders.module';
export { OrderDetails, OrderSummary, OrderSummaryPage } from './reading/dto/order.dto';
export { OrderWaitQuery, OrdersQuery } from './reading/dto/orders.query';
export { OrderReadingService } from './reading/order-reading.service';
export { DryRunResponse } from './placing/dto/dry-run-response.dto';
export { PurchaseRequest } from './placing/dto/orders.dto';
export { readPurchase } from './placing/order-request';
export { type OrderResult, OrdersService } from './placing/orders.service';
export { CLOSED_FOR_MAINTENANCE, Maintenance } from './maintenance';
export { RenewalOrders, type RenewalCapacity, type WantedRenewal } from './placing/renewal-orders';
export { ReviewService } from './reconciliation/review.service';
export {
  type ForgottenOrder,
  ForgottenOrderRecords,
  type WrittenOffRequest,
} from './transitions/forgotten-order-records';
export { OrderCancellations } from './transitions/order-cancellations';
export { OrderClaims } from './transitions/order-claims';
export {
  countOpenOrdersAsPossiblyBought,
  OutcomeSearchRecords,
  SEARCHES_END_AFTER_SECONDS,
  spacingOfEmptySearchesSeconds,
} from './transitions/outcome-search-records';
export { Settlement } from './transitions/settlement';
export { ORDERS_DATA } from './personal-data';
