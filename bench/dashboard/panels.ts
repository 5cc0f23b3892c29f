import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Labels, Prometheus } from '../../drills/support/prometheus';
import { PROJECT } from '../support/processes';

/** The file for Grafana, as far as it is drawn. Positions are in rows, and columns, of which there are 24. */
interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly type: 'row' | 'stat' | 'timeseries';
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
    readonly fieldConfig?: {
      readonly defaults: {
        readonly unit: string;
        readonly thresholds?: {
          readonly steps: readonly { readonly color: string; readonly value: number | null }[];
        };
        readonly custom?: { readonly stacking: { readonly mode: 'none' | 'normal' } };
      };
    };
  }[];
}

export type Panel = Dashboard['panels'][number] & {
  /** Seconds since 1970. */
  readonly times: readonly number[];
  /** A value for each time, where there is one. */
  readonly series: readonly { readonly name: string; readonly values: readonly (number | null)[] }[];
};

/** Whole seconds since 1970: Prometheus answers for moments that are the same to the millisecond. */
export interface TimeRange {
  readonly start: number;
  readonly end: number;
  readonly stepSeconds: number;
}

/** What the panels of operations/dashboard.json show of a time. */
export async function readPanels(prometheus: Prometheus, range: TimeRange): Promise<Panel[]> {
  const { panels }: Dashboard = JSON.parse(
    await readFile(join(PROJECT, 'operations', 'dashboard.json'), 'utf8'),
  );
  const count = Math.floor((range.end - range.start) / range.stepSeconds) + 1;
  const times = Array.from({ length: count }, (_, at) => range.start + at * range.stepSeconds);
  return Promise.all(
    panels.map(async (panel) => {
      const series = await Promise.all(
        (panel.targets ?? []).map(async ({ expr, legendFormat }) => {
          const found = await prometheus.queryRange(withInterval(expr, range.stepSeconds), range);
          return found.map(({ labels, points }) => {
            const values = new Map(points);
            return {
              name: legendOf(legendFormat, labels),
              values: times.map((time) => values.get(time) ?? null),
            };
          });
        }),
      );
      return { ...panel, times, series: series.flat() };
    }),
  );
}

/** Grafana writes the shortest time in its place that has enough scrapes. */
const withInterval = (expr: string, stepSeconds: number): string =>
  expr.replaceAll('$__rate_interval', `${Math.max(10, Math.ceil(stepSeconds))}s`);

const legendOf = (format: string, labels: Labels): string =>
  format.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? '');
