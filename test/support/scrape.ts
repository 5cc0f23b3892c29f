import { METRIC_PREFIX } from '../../src/metrics';
import { type BuiltService, eventually } from './built-service';

export interface Scrape {
  readonly text: string;
  /** A series' value by name without our prefix; 0 when there is none. */
  readonly value: (series: string) => number;
  /** With labels, without values. */
  readonly series: readonly string[];
}

export const metricsUrlOf = (service: BuiltService): Promise<string> =>
  eventually(() => /serving metrics at (http:[^"\s]+)/.exec(service.stdout())?.[1]);

export async function readMetrics(url: string): Promise<Scrape> {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`a scrape returned ${response.status}`);
  const text = await response.text();
  const values = new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const at = line.lastIndexOf(' ');
        return [line.slice(0, at), Number(line.slice(at + 1))] as const;
      }),
  );
  return { text, value: (series) => values.get(METRIC_PREFIX + series) ?? 0, series: [...values.keys()] };
}
