import type { WireMethodName } from './methods/wire-methods';

/** Delay of a call before its effect, in milliseconds: fixed, or random within a range. */
export type Latency = number | { minMs: number; maxMs: number };

/** By method; `any` applies to all others. */
export type Latencies = Partial<Record<WireMethodName | 'any', Latency>>;

export function pickLatencyMs(latencies: Latencies, method: WireMethodName): number {
  const latency = latencies[method] ?? latencies.any ?? 0;
  if (typeof latency === 'number') return latency;
  return latency.minMs + Math.random() * (latency.maxMs - latency.minMs);
}
