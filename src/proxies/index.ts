export { ProxyOut, toProxyOut } from './dto/proxy-out.dto';
export { FORMAT_NAMES } from './export/formats';
export { normalLabel, normalTag } from './filter/labels';
export { CountryFilterField, LabelFilterField, TagFilterField } from './filter/proxy-filter.query';
export { LabelsService } from './labels/labels.service';
export { ProxyChecksService } from './checks/proxy-checks.service';
export { ProxiesModule } from './proxies.module';
export { ProxiesService } from './proxies.service';
export { ProxyNotFound } from './proxies.errors';
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
