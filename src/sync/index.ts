export {
  FoundProlongationDecided,
  FoundProlongationNotFound,
  DatabaseWasRestored,
  MaintenanceNotOver,
  MissingProxiesChanged,
  NotInMaintenance,
  UnmatchedProxyAssigned,
  UnmatchedProxyNotFound,
  OrderNotAssignable,
  UnmatchedProxiesIncomplete,
  NamedUserFirst,
  TooFewUnmatchedProxies,
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
export {
  MissingProxiesOut,
  UNMATCHED_PROXY_STATES,
  UnmatchedProxyOut,
  type UnmatchedProxyState,
} from './sweep/sweep.dto';
export { UnmatchedProxiesService } from './sweep/unmatched-proxies.service';
export { TypeChangeService } from './type-change/type-change.service';
export { MissingProxiesService } from './sweep/missing-proxies.service';
