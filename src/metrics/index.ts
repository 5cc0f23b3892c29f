export { type MetricDefinition, METRICS, PREFIX } from './definitions';
export { Metrics, type SetGauge } from './metrics';
export { MetricsServer } from './metrics-server';
