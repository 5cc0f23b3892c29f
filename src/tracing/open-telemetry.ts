import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { REPLICA_ID, SERVICE_VERSION } from '../common';
import type { Tracing } from './spans';

/** How long one export may take with all its attempts. */
const EXPORT_TIMEOUT_MS = 2000;
const EXPORT_EVERY_MS = 1000;
/** What has not been sent by then, when the service ends, is lost. */
const END_TIMEOUT_MS = 3000;
/** Spans that wait; more are dropped. */
const MAX_WAITING = 2048;

export interface OpenTelemetry extends Tracing {
  /** Sends what waits, within 3 s. Never rejects. */
  end(): Promise<void>;
}

/** Loads OpenTelemetry and has it send spans to a collector. Nothing ever waits for the collector. */
export async function loadOpenTelemetry(url: string, ratio: number): Promise<OpenTelemetry> {
  const api = await import('@opentelemetry/api');
  const sdk = await import('@opentelemetry/sdk-trace');
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
  const { resourceFromAttributes } = await import('@opentelemetry/resources');
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: EXPORT_TIMEOUT_MS });
  const losses = new Losses();
  const provider = new sdk.TracerProvider({
    // Written out: what is found out about a process has its command line and its directories.
    resource: resourceFromAttributes({
      'service.name': 'proxy-rental-service',
      'service.version': SERVICE_VERSION,
      'service.instance.id': REPLICA_ID,
    }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: reporting(exporter, losses),
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
        scheduledDelayMillis: EXPORT_EVERY_MS,
        maxQueueSize: MAX_WAITING,
      }),
    ],
  });
  return {
    api,
    tracer: provider.getTracer('proxy-rental-service'),
    end: async () => {
      const waiting = new AbortController();
      const { signal } = waiting;
      await Promise.race([
        provider.shutdown().catch(() => undefined),
        pause(END_TIMEOUT_MS, undefined, { signal }).catch(() => undefined),
      ]);
      waiting.abort();
      losses.isOver = true;
    },
  };
}

/** Logs when traces begin to be lost, and when they no longer are: OpenTelemetry itself says nothing. */
class Losses {
  private readonly logger = new Logger('Traces');
  private isLosing = false;
  /** What is lost once the service has ended is no news. */
  isOver = false;

  note(isLost: boolean): void {
    if (isLost === this.isLosing || this.isOver) return;
    this.isLosing = isLost;
    if (isLost) this.logger.warn('traces are lost: their collector does not take them');
    else this.logger.log('the collector takes traces again');
  }
}

function reporting(exporter: SpanExporter, losses: Losses): SpanExporter {
  // An export is no part of the request whose span happened to be the first that waited.
  const outside = AsyncLocalStorage.snapshot();
  return {
    export: (spans, done) =>
      outside(() =>
        exporter.export(spans, (result) => {
          losses.note(result.error !== undefined);
          done(result);
        }),
      ),
    shutdown: () => exporter.shutdown(),
  };
}
