import type { Counter, Histogram, Registry } from 'prom-client';
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type MetricDefinition,
  METRICS,
  PREFIX,
} from './definitions';

type PromClient = typeof import('prom-client');

/** Sets a gauge for the scrape under way. A gauge that is not set is absent from it. */
export type SetGauge = <Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, value: number) => void;

/** Reads what gauges tell, for each scrape. It must not take longer than a scraper waits. */
export type GaugeReader = (set: SetGauge) => void | Promise<void>;

/** The part that costs something, which is there only when somebody can read it. */
interface Recorder {
  readonly client: PromClient;
  readonly registry: Registry;
  readonly counters: ReadonlyMap<string, Counter>;
  readonly histograms: ReadonlyMap<string, Histogram>;
}

/**
 * What the service measures of itself. Counters and histograms are observed where things happen, gauges are
 * read when somebody asks. Without METRICS_PORT nobody can ask, and nothing is kept.
 */
export class Metrics {
  /** For whatever runs outside of the application. */
  static readonly off = new Metrics(undefined);

  private readonly readers: GaugeReader[] = [];
  private rendering: Promise<string> | undefined;

  private constructor(private readonly recorder: Recorder | undefined) {}

  /** Loads prom-client, which takes a tenth of a second, only when it is needed. */
  static async open(isOn: boolean): Promise<Metrics> {
    return new Metrics(isOn ? await createRecorder(await import('prom-client')) : undefined);
  }

  get isOn(): boolean {
    return this.recorder !== undefined;
  }

  count<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, times = 1): void {
    this.recorder?.counters.get(name)?.inc(labels, times);
  }

  /** @param seconds not negative: a difference of two clocks may be */
  observe<Name extends HistogramName>(name: Name, labels: LabelsOf<Name>, seconds: number): void {
    this.recorder?.histograms.get(name)?.observe(labels, Math.max(0, seconds));
  }

  /** Has gauges read for each scrape. */
  addReader(read: GaugeReader): void {
    this.readers.push(read);
  }

  /** The metrics in the text format of Prometheus. Those who ask at the same time share one answer. */
  render(): Promise<string> {
    this.rendering ??= this.renderNow().finally(() => (this.rendering = undefined));
    return this.rendering;
  }

  private async renderNow(): Promise<string> {
    if (!this.recorder) throw new Error('nothing is measured without METRICS_PORT');
    const { client, registry } = this.recorder;
    // Made anew for each scrape: what could not be read this time is absent, and no old value stands for it.
    const gauges = new client.Registry();
    const set: SetGauge = (name, labels, value) => {
      const known = gauges.getSingleMetric(PREFIX + name) as InstanceType<PromClient['Gauge']> | undefined;
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
  return { name: PREFIX + name, help: definition.help, labelNames: Object.keys(definition.labels) };
}

/**
 * The process's own: CPU, memory, and how late the event loop is. Of what prom-client has, the observer of
 * garbage collections is left out, because it costs a part of each, and resources in use, because their
 * labels come and go and their names break the rules. It has no other way to choose.
 */
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
