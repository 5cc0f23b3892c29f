export { Deadline } from './deadline';
export { acquireLocalSandbox, type LocalSandbox } from './local-sandbox';
export {
  ProviderClosed,
  ProviderError,
  ProviderOutcomeUnknown,
  ProviderRefused,
  ProviderUnavailable,
  type RefusalReason,
} from './provider-errors';
export { ProviderModule } from './provider.module';
export {
  type BreakerStatus,
  type CallPriority,
  type PriceTable,
  type ProviderBalance,
  type ProviderStatus,
  type Turn,
  UpstreamProvider,
  type IpVersion,
  type ListedProxy,
  type ProviderCallRecord,
  type ProviderProlongation,
  type ProviderPurchase,
  type ProxyType,
  type UpstreamProxy,
} from './upstream-provider';
