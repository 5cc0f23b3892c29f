import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@nestjs/common';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { createOutgoingAgents, isOverWithin, REPLICA_ID, SERVICE_VERSION } from '../common';
import type { Tracing } from './spans';

/** Time limit for an export, including retries. */
const EXPORT_TIMEOUT_MS = 2000;
const EXPORT_EVERY_MS = 1000;
const IDLE_MS = 5000;
/** At shutdown, spans that are still unsent after this time are lost. */
const END_TIMEOUT_MS = 3000;
/** Further spans are dropped. */
const MAX_WAITING = 2048;

export interface OpenTelemetry extends Tracing {
  /** Sends pending spans. Never rejects. */
  end(): Promise<void>;
}

/** Exports spans in the background, so that requests never wait for the collector. */
export async function loadOpenTelemetry(
  { url, ratio }: { readonly url: string; readonly ratio: number },
  proxy: string | undefined,
): Promise<OpenTelemetry> {
  const api = await import('@opentelemetry/api');
  const sdk = await import('@opentelemetry/sdk-trace');
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
  const { resourceFromAttributes } = await import('@opentelemetry/resources');
  const agents = createOutgoingAgents({ connectTimeoutMs: EXPORT_TIMEOUT_MS, idleMs: IDLE_MS, proxy });
  const exporter = new OTLPTraceExporter({
    url,
    timeoutMillis: EXPORT_TIMEOUT_MS,
    httpAgentOptions: (protocol) => (protocol === 'https:' ? agents.httpsAgent : agents.httpAgent),
  });
  const losses = new Losses();
  const provider = new sdk.TracerProvider({
    // Resources are not detected, because they would contain the process's command line and directories.
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
      await isOverWithin(
        END_TIMEOUT_MS,
        provider.shutdown().catch(() => undefined),
      );
      losses.isOver = true;
    },
  };
}

/** Logs when the collector stops or resumes accepting spans, because OpenTelemetry does not. */
class Losses {
  private readonly logger = new Logger('Traces');
  private isLosing = false;
  isOver = false;

  note(isLost: boolean): void {
    if (isLost === this.isLosing || this.isOver) return;
    this.isLosing = isLost;
    if (isLost) this.logger.warn('traces are lost: the collector does not accept them');
    else this.logger.log('the collector accepts traces again');
  }
}

function reporting(exporter: SpanExporter, losses: Losses): SpanExporter {
  // An export must not run in the context of the request that happens to trigger it.
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
