import { z } from 'zod';
import { delaySchema, methodSchema } from './faults/fault';
import type { WireMethodName } from './methods/wire-methods';

/** Delay before a call's effect: fixed, or random within a range. */
const latencySchema = z.union([
  delaySchema,
  z
    .strictObject({ minMs: delaySchema, maxMs: delaySchema })
    .refine(({ minMs, maxMs }) => minMs <= maxMs, 'minMs must not be above maxMs'),
]);

/** `any` applies to all methods that are not listed. */
export const latenciesSchema = z.partialRecord(methodSchema, latencySchema);

export type Latencies = z.output<typeof latenciesSchema>;

export function pickLatencyMs(latencies: Latencies, method: WireMethodName): number {
  const latency = latencies[method] ?? latencies.any ?? 0;
  if (typeof latency === 'number') return latency;
  return latency.minMs + Math.random() * (latency.maxMs - latency.minMs);
}
