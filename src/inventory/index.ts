export {
  FoundProlongationDecided,
  FoundProlongationNotFound,
  MissingProxiesChanged,
  NoRecovery,
  OrphanAssigned,
  OrphanNotFound,
  OrderNotAssignable,
  OrphansIncomplete,
  RecoveryIsNoPrecaution,
  RecoveryNotOver,
  TaggedUserFirst,
  TooFewOrphans,
} from './inventory.errors';
export { InventoryModule } from './inventory.module';
export { ForgottenOrdersService } from './recovery/forgotten-orders.service';
export {
  FOUND_PROLONGATION_STATES,
  FoundProlongationOut,
  type FoundProlongationState,
  RecoveryOut,
} from './recovery/recovery.dto';
export { DEFAULT_SKIPPED_IDS, RecoveryService } from './recovery/recovery.service';
export { MissingProxiesOut, ORPHAN_STATES, OrphanOut, type OrphanState } from './sweep/sweep.dto';
export { OrphansService } from './sweep/orphans.service';
export { WithdrawalsService } from './sweep/withdrawals.service';
