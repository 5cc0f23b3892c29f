export { ProxyOut, toProxyOut } from './dto/proxy-out.dto';
export { FORMAT_NAMES } from './export/formats';
export { normalLabel, normalTag } from './filter/labels';
export { CountryFilterField, LabelFilterField, TagFilterField } from './filter/proxy-filter.query';
export { ProxiesModule } from './proxies.module';
export { ProxiesService } from './proxies.service';
export { ProxyNotFound } from './proxies.errors';
export { NO_SUCH_PROXY, ProxyIdParam } from './proxy-id';
export { type Proxy } from './proxy';
export { TooManySelected } from './selection/selection.errors';
export { ProxySelection } from './selection/proxy-selection.dto';
export {
  readSelection,
  type SelectedProxy,
  type Selection,
  SelectionsService,
} from './selection/selections.service';
