export { ProxyOut, toProxyOut } from './dto/proxy-out.dto';
export { ProxyCheckOut } from './checks/proxy-check-out.dto';
export { FORMAT_NAMES, type FormatName } from './export/formats';
export { ProxyExportService } from './export/proxy-export.service';
export { ListRevisionService } from './list-revision.service';
export { normalLabel, normalTag } from './filter/labels';
export {
  CountryFilterField,
  LabelFilterField,
  ProxyFilterBody,
  TagFilterField,
  toProxyFilter,
} from './filter/proxy-filter.query';
export { LabelsService } from './labels/labels.service';
export { ProxiesModule } from './proxies.module';
export { ProxiesService } from './proxies.service';
export { ProxyNotFound, ProxyRefunded } from './proxies.errors';
export { type ProxyProbe, ProxyChecksService, type ProxyToCheck } from './checks/proxy-checks.service';
export { type ProxyCheckReason, verdictOf } from './checks/verdict';
export { NO_SUCH_PROXY, ProxyIdParam } from './proxy-id';
export { type Proxy } from './proxy';
export { TooManyTargets } from './bulk-target/bulk-target.errors';
export { BulkTargetRequest } from './bulk-target/bulk-target.dto';
export {
  readBulkTarget,
  type TargetProxy,
  type BulkTarget,
  BulkTargetsService,
} from './bulk-target/bulk-targets.service';
export { PROXIES_DATA } from './personal-data';
