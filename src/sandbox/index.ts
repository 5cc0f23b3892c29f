export { startSandbox, type RunningSandbox, type SandboxOptions } from './sandbox';
export { DirectoryInUseError } from './directory-lock';
export { SandboxControl } from './control/control-client';
export { WireClient, type WireAnswer } from './wire-client';
export type { Fault, FaultKind, FaultOrder, RequestFilter } from './faults/fault';
export type { GateOrder, GateStage, GateVerdict } from './faults/gates';
export type { BookView, ProlongationView, SaleView } from './control/views';
export type { Call } from './wire/call-log';
export type { Latencies, Latency } from './wire/latency';
