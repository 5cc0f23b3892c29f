export { startSandbox, type RunningSandbox, type SandboxOptions } from './sandbox';
export { DEFAULT_DIALECT, type Dialect } from './dialect';
export { SandboxControl } from './control/control-client';
export type { ProxyFault } from './proxy-servers/endpoint';
export type { FaultSpec } from './wire/faults/fault';
export type { StateView } from './control/views';
export type { Call } from './wire/received-calls';
export { PaymentsSandbox } from './payments/payments-sandbox';
