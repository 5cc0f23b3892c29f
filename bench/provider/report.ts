import { markdownTable, milliseconds, seconds } from '../support/markdown';
import type { Attempt } from '../support/order-client';
import { median, percentile } from '../support/statistics';
import type { Read } from './steady-reads';

/** Results of a load of orders. Rates and counts refer to the measured time. */
export interface OrderMetrics {
  readonly measuredSeconds: number;
  readonly delivered: readonly Attempt[];
  readonly answered503: number;
  /** Number of buy or prolong calls. */
  readonly moneyCalls: number;
  /** Over the whole scenario, because the orders of a call may be delivered outside the measured time. */
  readonly ordersPerCall: number;
  /** Calls of every method, over the whole scenario. */
  readonly mostCallsInAnySecond: number;
  readonly answered429: number;
}

const tookMs = ({ sentAtMs, answeredAtMs }: Attempt): number => answeredAtMs - sentAtMs;
const sinceFirstMs = ({ firstSentAtMs, answeredAtMs }: Attempt): number => answeredAtMs - firstSentAtMs;

const ORDER_ROWS: readonly (readonly [string, (figures: OrderMetrics) => string])[] = [
  ['delivered per second', (figures) => deliveredPerSecond(figures).toFixed(1)],
  ['delivered', ({ delivered }) => String(delivered.length)],
  ['answered 503', ({ answered503 }) => String(answered503)],
  ['median of a delivered request', ({ delivered }) => seconds(median(delivered.map(tookMs)))],
  ['p99 of a delivered request', ({ delivered }) => seconds(percentile(delivered.map(tookMs), 99))],
  ['median from the first request on', ({ delivered }) => seconds(median(delivered.map(sinceFirstMs)))],
  ['p99 from the first request on', ({ delivered }) => seconds(percentile(delivered.map(sinceFirstMs), 99))],
  ['buy or prolong calls', ({ moneyCalls }) => String(moneyCalls)],
  ['delivered orders per call', ({ ordersPerCall }) => ordersPerCall.toFixed(1)],
  ['most calls in any second', ({ mostCallsInAnySecond }) => String(mostCallsInAnySecond)],
  ['429 from the provider', ({ answered429 }) => String(answered429)],
];

export function deliveredPerSecond({ delivered, measuredSeconds }: OrderMetrics): number {
  return delivered.length / measuredSeconds;
}

/** A table with one column for each load. */
export function orderTable(loads: Readonly<Record<string, OrderMetrics>>): string {
  const figures = Object.values(loads);
  return markdownTable(
    ['', ...Object.keys(loads)],
    ORDER_ROWS.map(([title, cell]) => [title, ...figures.map(cell)]),
  );
}

export function readTable(reads: readonly Read[]): string {
  const paths = [...new Set(reads.map(({ path }) => path))];
  return markdownTable(
    ['', 'requests', 'not 200', 'median', 'p99'],
    paths.map((path) => {
      const own = reads.filter((read) => read.path === path);
      const times = own.map((read) => read.tookMs);
      const failed = own.filter(({ status }) => status !== 200);
      return [
        `\`GET ${path}\``,
        String(own.length),
        String(failed.length),
        milliseconds(median(times)),
        milliseconds(percentile(times, 99)),
      ];
    }),
  );
}

/** Waiting times of delivered orders: their time beyond the provider's latency. */
export function waitsMs(attempts: readonly Attempt[], providerMs: number): number[] {
  return attempts.filter(({ status }) => status === 200).map((attempt) => sinceFirstMs(attempt) - providerMs);
}
