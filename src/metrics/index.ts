export { type MetricDefinition, METRICS, PREFIX } from './definitions';
export { type GaugeReader, Metrics, type SetGauge } from './metrics';
export { MetricsServer } from './metrics-server';
