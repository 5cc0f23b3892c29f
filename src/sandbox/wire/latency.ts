import type { WireMethodName } from './methods/wire-methods';

/** Milliseconds a call takes before it has its effect: exactly, or from a range. */
export type Latency = number | { minMs: number; maxMs: number };

/** By method; `any` is for those not named. */
export type Latencies = Partial<Record<WireMethodName | 'any', Latency>>;

export function pickLatencyMs(latencies: Latencies, method: WireMethodName): number {
  const latency = latencies[method] ?? latencies.any ?? 0;
  if (typeof latency === 'number') return latency;
  return latency.minMs + Math.random() * (latency.maxMs - latency.minMs);
}
