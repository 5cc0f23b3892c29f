export { BulkProlongation } from './bulk/bulk-prolongation.entity';
export { DispatcherService } from './dispatch/dispatcher.service';
export { longestOrderMs } from './longest-order';
export { OrderRecordsModule } from './order-records.module';
export {
  OPEN_STATES,
  type OpenState,
  ORDER_KINDS,
  ORDER_STATES,
  type OrderKind,
  type OrderState,
  statesTold,
  UNATTENDED_STATES,
} from './order-states';
export { PURCHASE_TAG_SQL, TAG_PREFIX_SQL } from './order-tag';
export { bulkOrderKeySql, type Idempotency, readIdempotency } from './order-keys';
export { Order } from './order.entity';
export { IdempotencyKeyMissing, IdempotencyKeyReused, OrderNotFound, RefundTooLarge } from './orders.errors';
export { OrdersModule } from './orders.module';
export { OrdersService } from './placing/orders.service';
export { ProviderCall } from './provider-call.entity';
export { OrderWaits } from './order-waits';
export { ForgottenOrdersService, type ForgottenTerms } from './recovery/forgotten-orders.service';
export {
  FOUND_PROLONGATION_STATES,
  FoundProlongationOut,
  type FoundProlongationState,
} from './recovery/found-prolongation.dto';
export { RecoveryOut } from './recovery/recovery.dto';
export { beginRecovery, DEFAULT_SKIPPED_IDS, RecoveryService } from './recovery/recovery.service';
export {
  RenewalOrders,
  renewalKey,
  renewalKeySql,
  type RenewalOffer,
  type UnsentRenewal,
  type WantedRenewal,
} from './renewals/renewal-orders.service';
export { type RenewalPlacement, type RenewalRefusal } from './placing/order-placement';
export { ReviewService } from './reconciliation/review.service';
export { Orphan } from './sweep/orphan.entity';
export { ORPHAN_STATES, OrphanOut, type OrphanState } from './sweep/orphan.dto';
export { OrphansService } from './sweep/orphans.service';
export { SweepService } from './sweep/sweep.service';
export { type MissingProxies, WithdrawalsService } from './sweep/withdrawals.service';
export { HoldReleases } from './transitions/hold-releases';
export { OrderClaims } from './transitions/order-claims';
export { OutcomeChecks } from './transitions/outcome-checks';
