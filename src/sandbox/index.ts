export { startSandbox, type RunningSandbox, type SandboxOptions } from './sandbox';
export { DEFAULT_DIALECT, type Dialect } from './dialect';
export { SandboxControl } from './control/control-client';
export type { ExitFault } from './exits/endpoint';
export type { Fault, FaultSpec } from './wire/faults/fault';
export type { StateView } from './control/views';
export type { Call } from './wire/call-log';
export type { Latency } from './wire/latency';
export { PaymentsSandbox, type PaymentFault } from './payments/payments-sandbox';
