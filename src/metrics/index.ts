export { type MetricDefinition, METRICS, METRIC_PREFIX } from './definitions';
export { Metrics, type SetGauge } from './metrics';
export { MetricsServer } from './metrics-server';
