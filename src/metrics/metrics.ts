import type { Counter, Histogram, Registry } from 'prom-client';
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type MetricDefinition,
  METRICS,
  METRIC_PREFIX,
} from './definitions';

type PromClient = typeof import('prom-client');

/** A scrape omits gauges that are not set. */
export type SetGauge = <Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, value: number) => void;

/** Must finish within the scraper's timeout. */
export type GaugeReader = (set: SetGauge) => void | Promise<void>;

/** Exists only if metrics are enabled. */
interface Recorder {
  readonly client: PromClient;
  readonly registry: Registry;
  readonly counters: ReadonlyMap<string, Counter>;
  readonly histograms: ReadonlyMap<string, Histogram>;
}

/** Records nothing unless METRICS_PORT is set. */
export class Metrics {
  /** For code outside the application. */
  static readonly disabled = new Metrics(undefined);

  private readonly readers: GaugeReader[] = [];
  private rendering: Promise<string> | undefined;

  private constructor(private readonly recorder: Recorder | undefined) {}

  /** Loads prom-client only if metrics are enabled, because loading takes a tenth of a second. */
  static async open(isEnabled: boolean): Promise<Metrics> {
    return new Metrics(isEnabled ? await createRecorder(await import('prom-client')) : undefined);
  }

  get isEnabled(): boolean {
    return this.recorder !== undefined;
  }

  count<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, times = 1): void {
    this.recorder?.counters.get(name)?.inc(labels, times);
  }

  /** Negative durations, which result from clock differences, count as 0. */
  observe<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>, seconds: number): void {
    this.recorder?.histograms.get(name)?.observe(labels, Math.max(0, seconds));
  }

  addReader(read: GaugeReader): void {
    this.readers.push(read);
  }

  /** Concurrent scrapes share one result. */
  render(): Promise<string> {
    this.rendering ??= this.renderNow().finally(() => (this.rendering = undefined));
    return this.rendering;
  }

  private async renderNow(): Promise<string> {
    if (!this.recorder) throw new Error('nothing is measured without METRICS_PORT');
    const { client, registry } = this.recorder;
    // Use a new registry for each scrape, so that an unreadable gauge is absent rather than outdated.
    const gauges = new client.Registry();
    const set: SetGauge = (name, labels, value) => {
      const known = gauges.getSingleMetric(METRIC_PREFIX + name) as
        | InstanceType<PromClient['Gauge']>
        | undefined;
      (known ?? new client.Gauge({ ...optionsOf(name), registers: [gauges] })).set(labels, value);
    };
    await Promise.all(this.readers.map(async (read) => read(set)));
    return `${await registry.metrics()}\n${await gauges.metrics()}`;
  }
}

async function createRecorder(client: PromClient): Promise<Recorder> {
  const registry = new client.Registry();
  const registers = [registry];
  const counters = new Map<string, Counter>();
  const histograms = new Map<string, Histogram>();
  for (const [name, definition] of Object.entries<MetricDefinition>(METRICS)) {
    const options = optionsOf(name, definition);
    if (definition.type === 'counter') counters.set(name, new client.Counter({ ...options, registers }));
    if (definition.type === 'histogram') {
      const buckets = [...(definition.buckets ?? [])];
      histograms.set(name, new client.Histogram({ ...options, buckets, registers }));
    }
  }
  await collectProcessMetrics(registry);
  return { client, registry, counters, histograms };
}

function optionsOf(name: string, definition: MetricDefinition = METRICS[name as GaugeName]) {
  return { name: METRIC_PREFIX + name, help: definition.help, labelNames: Object.keys(definition.labels) };
}

// Omits two groups: garbage collection metrics, because measuring collections slows them down; and active
// resources, because their labels come and go.
const PROCESS_METRICS = [
  'processCpuTotal',
  'processStartTime',
  'osMemoryHeap',
  'processOpenFileDescriptors',
  'processMaxFileDescriptors',
  'eventLoopLag',
  'heapSizeAndUsed',
  'heapSpacesSizeAndUsed',
  'version',
];

const LAG_RESOLUTION_MS = 10;

type CollectProcessMetric = (registry: Registry, options: { eventLoopMonitoringPrecision: number }) => void;

async function collectProcessMetrics(registry: Registry): Promise<void> {
  for (const name of PROCESS_METRICS) {
    const loaded = (await import(`prom-client/lib/metrics/${name}.js`)) as { default: CollectProcessMetric };
    loaded.default(registry, { eventLoopMonitoringPrecision: LAG_RESOLUTION_MS });
  }
}
