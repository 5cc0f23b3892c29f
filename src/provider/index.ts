export { Deadline } from './deadline';
export { acquireLocalSandbox, type LocalSandbox } from './local-sandbox';
export {
  ProviderError,
  ProviderOutcomeUnknown,
  ProviderRefused,
  ProviderUnavailable,
  type RefusalReason,
} from './provider-errors';
export { ProviderModule } from './provider.module';
export {
  UpstreamProvider,
  type IpVersion,
  type ListedProxy,
  type ProviderCallRecord,
  type ProviderProlongation,
  type ProviderPurchase,
  type ProxyType,
  type UpstreamProxy,
} from './upstream-provider';
