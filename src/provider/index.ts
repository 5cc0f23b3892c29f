export { Deadline } from './deadline';
export {
  ProviderClosed,
  ProviderError,
  ProviderOutcomeUnknown,
  ProviderRefused,
  ProviderUnavailable,
  type ProviderRefusal,
} from './provider-errors';
export { ProviderModule } from './provider.module';
export {
  type BreakerStatus,
  CALL_PRIORITIES,
  type CallPriority,
  type RatePermit,
  ProxyProvider,
  type ListedPage,
  type ListedProxy,
  ListingIncomplete,
  PROXIES_PER_CALL,
  type ListingOptions,
  type ProviderCallRecord,
  type ProviderProlongation,
  type ProviderPurchase,
  type ProviderProxy,
  type UnreadRow,
} from './proxy-provider';
