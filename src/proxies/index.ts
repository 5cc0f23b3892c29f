export { ProxyOut, toProxyOut } from './dto/proxy-out.dto';
export { sendConditionally, sendExport } from './export/conditional-answer';
export { Conditional, fileResponse } from './export/file-response';
export { FORMAT_NAMES, type FormatName } from './export/formats';
export { ExportTemplateField } from './export/template-field';
export { type ExportOptions, ProxyExportService } from './export/proxy-export.service';
export { ALL_PROXIES, isUnfiltered, type ProxyFilter, proxyFilterSql } from './filter/proxy-filter';
export { normalLabel, normalTag } from './filter/labels';
export {
  CountryFilterField,
  LabelFilterField,
  ProxyFilterBody,
  ProxyFilterQuery,
  TagFilterField,
  toProxyFilter,
} from './filter/proxy-filter.query';
export { entityTag, type ListRevision, ListRevisionService } from './list-revision.service';
export { ProxiesModule } from './proxies.module';
export { ProxiesService } from './proxies.service';
export { ProxyNotFound } from './proxies.errors';
export { NO_SUCH_PROXY, ProxyIdParam } from './proxy-id';
export { type Proxy } from './proxy';
export { TooManySelected } from './selection/selection.errors';
export { ProxySelection } from './selection/proxy-selection.dto';
export {
  readSelection,
  type Selected,
  type SelectedProxy,
  type Selection,
  SelectionsService,
} from './selection/selections.service';
export { LinksModule } from './links/links.module';
export { TrialsModule } from './trials/trials.module';
