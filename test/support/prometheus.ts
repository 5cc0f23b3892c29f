import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Daemon, startDaemon } from '../../drills/support/daemon';
import { DEBIAN } from '../../drills/support/debian';
import { freePort, LOOPBACK } from '../../drills/support/ports';

export interface PrometheusOptions {
  /** Its configuration and data go there. */
  readonly directory: string;
  /** How often it scrapes, and evaluates its rules. */
  readonly intervalMs: number;
  /** Its targets: `host:port` by the name of the job. */
  readonly jobs: Readonly<Record<string, readonly string[]>>;
  /** The text of a file of rules. */
  readonly rules?: string;
}

/** The labels of a series or an alert. */
export type Labels = Readonly<Record<string, string>>;

export interface Prometheus extends Daemon {
  readonly baseUrl: string;
  /** The alerts that are firing now, by their labels. */
  firing(): Promise<Labels[]>;
  /** The result of a query now: a value for each series. */
  query(expr: string): Promise<{ labels: Labels; value: number }[]>;
}

interface Sample {
  readonly metric: Labels;
  readonly value: [number, string];
}

/** Starts the Prometheus of Debian, and returns when it responds. */
export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const { directory, intervalMs, jobs, rules } = options;
  const port = await freePort();
  const baseUrl = `http://${LOOPBACK}:${port}`;
  const interval = `${intervalMs}ms`;
  const configuration = {
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    rule_files: rules === undefined ? [] : ['rules.yml'],
    scrape_configs: Object.entries(jobs).map(([job_name, targets]) => ({
      job_name,
      static_configs: [{ targets }],
    })),
  };
  // JSON is YAML as well.
  await writeFile(join(directory, 'prometheus.yml'), JSON.stringify(configuration));
  if (rules !== undefined) await writeFile(join(directory, 'rules.yml'), rules);

  const get = async <Data>(path: string): Promise<Data> => {
    const response = await fetch(baseUrl + path);
    const result = (await response.json()) as { status: string; data: Data; error?: string };
    if (result.status !== 'success') throw new Error(`Prometheus rejected ${path}: ${result.error}`);
    return result.data;
  };
  const daemon = await startDaemon({
    program: DEBIAN.prometheus.path,
    parameters: [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=${LOOPBACK}:${port}`,
    ],
    isReady: async () =>
      fetch(`${baseUrl}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
  });
  return {
    ...daemon,
    baseUrl,
    async firing() {
      const { alerts } = await get<{ alerts: { labels: Labels; state: string }[] }>('/api/v1/alerts');
      return alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels);
    },
    async query(expr) {
      const { result } = await get<{ result: Sample[] }>(
        `/api/v1/query?${new URLSearchParams({ query: expr }).toString()}`,
      );
      return result.map(({ metric, value: [, value] }) => ({ labels: metric, value: Number(value) }));
    },
  };
}

/** Starts the node exporter of Debian. It exports the file systems of this machine. */
/** @param texts the directory of its text files */
export async function startNodeExporter(texts: string): Promise<Daemon & { address: string }> {
  const address = `${LOOPBACK}:${await freePort()}`;
  const daemon = await startDaemon({
    program: DEBIAN.nodeExporter.path,
    parameters: [
      `--web.listen-address=${address}`,
      '--collector.disable-defaults',
      '--collector.filesystem',
      '--collector.textfile',
      `--collector.textfile.directory=${texts}`,
    ],
    isReady: async () =>
      fetch(`http://${address}/metrics`).then(
        ({ ok }) => ok,
        () => false,
      ),
  });
  return { ...daemon, address };
}
