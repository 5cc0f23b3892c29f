export { networksOf, plainAddress } from './address';
export { Clock, Moment, SystemClock } from './clock';
export { csvLine, disarmFormula, excelWriter } from './csv';
export {
  codeOf,
  DomainError,
  domainError,
  type DomainErrorOptions,
  type ErrorKind,
  ServiceUnavailable,
} from './domain-error';
export { failureLine } from './failure-line';
export { readEmail } from './email';
export { messageOf, stackOf } from './error-text';
export { ID_PATTERN, isId } from './id-pattern';
export { inSlices } from './in-slices';
export { listen } from './listen';
export { atMost } from './lru-options';
export { IP_VERSION_PATTERN, IP_VERSIONS, IP_VERSIONS_TEXT, type IpVersion } from './ip-version';
export { AppLogger } from './logging/app-logger';
export { FailureLog } from './logging/failure-log';
export {
  chooseRequestId,
  type RequestContext,
  requestId,
  runInRequest,
  setRequestLink,
  setRequestTool,
  setRequestUser,
  withoutSecretWords,
} from './logging/request-context';
export { compareDecimals, Money, multiplyDecimal, subtractDecimals, unitPriceWithMarkup } from './money';
export { jsonOrUndefined } from './json-or-undefined';
export { isNetwork, isWithin, liesWithin, LOOPBACK_HOSTS } from './network';
export { createOutgoingAgents } from './outgoing-agents';
export { proxyFor } from './proxy-tunnel';
export { providerHttp, RecordingTransport } from './provider-http';
export { MAX_ORDER_SIZE, PROXY_TYPES, type ProxyType } from './proxy-type';
export { type UnreadableRow, readRows } from './read-rows';
export { REPLICA_ID, SERVICE_NAME, SERVICE_VERSION } from './service';
export { TimeLimit } from './time-limit';
export { ConcurrencyLimit } from './concurrency-limit';
export { isOverWithin } from './within';
