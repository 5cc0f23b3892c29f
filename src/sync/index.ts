export {
  FoundProlongationDecided,
  FoundProlongationNotFound,
  DatabaseWasRestored,
  MaintenanceNotOver,
  MissingProxiesChanged,
  NotInMaintenance,
  OrphanAssigned,
  OrphanNotFound,
  OrderNotAssignable,
  OrphansIncomplete,
  TaggedUserFirst,
  TooFewOrphans,
} from './sync.errors';
export { SyncModule } from './sync.module';
export { ForgottenOrdersService } from './maintenance/forgotten-orders.service';
export {
  FOUND_PROLONGATION_STATES,
  FoundProlongationOut,
  type FoundProlongationState,
  MaintenanceOut,
} from './maintenance/maintenance.dto';
export { DEFAULT_SKIPPED_IDS, MaintenanceService } from './maintenance/maintenance.service';
export { MissingProxiesOut, ORPHAN_STATES, OrphanOut, type OrphanState } from './sweep/sweep.dto';
export { OrphansService } from './sweep/orphans.service';
export { WithdrawalsService } from './sweep/withdrawals.service';
