import { AsyncLocalStorage } from 'node:async_hooks';
import type * as Api from '@opentelemetry/api';

/** Fixed words, numbers and our own ids, never text from outside the service. */
export type SpanAttributes = Readonly<
  Partial<{
    'http.request.method': string;
    'http.route': string;
    'http.response.status_code': number;
    'user.id': string;
    'order.ids': number[];
    'order.kind': 'purchase' | 'prolongation';
    'order.outcome': string;
    'payments.method': string;
    'payments.outcome': string;
    'provider.method': string;
    'provider.outcome': string;
    'webhook.id': number;
    'webhook.outcome': string;
    'error.type': string;
  }>
>;

export interface Tracing {
  readonly api: typeof Api;
  readonly tracer: Api.Tracer;
}

export interface OpenSpan {
  /** Undefined if the trace is not recorded. */
  readonly traceId: string | undefined;
  /** Runs work whose spans become children of this span. */
  run<Result>(work: () => Result): Result;
  /** A span with an `error.type` has failed. */
  end(attributes?: SpanAttributes): void;
}

/** A request's context, captured for work that runs later, possibly together with other work. */
export interface Origin {
  readonly span: Api.Span | undefined;
  /** Runs work in the request's context, so that log lines contain the request's id. */
  run<Result>(work: () => Result): Result;
}

let tracing: Tracing | undefined;
const active = new AsyncLocalStorage<Api.Span>();

/** `undefined` stops recording. */
export function recordSpans(by: Tracing | undefined): void {
  tracing = by;
}

/** Begins a new trace: the caller's `traceparent` becomes only a link. */
export function beginRequestSpan(
  method: string,
  traceparent: () => string | undefined,
): OpenSpan | undefined {
  if (!tracing) return undefined;
  const { api, tracer } = tracing;
  const caller = readTraceparent(traceparent());
  const span = tracer.startSpan(
    method,
    {
      kind: api.SpanKind.SERVER,
      attributes: { 'http.request.method': method },
      links: caller ? [{ context: caller }] : [],
    },
    api.ROOT_CONTEXT,
  );
  return toOpenSpan(tracing, span);
}

export function beginSpan(name: string, attributes: SpanAttributes): OpenSpan | undefined {
  return tracing && toOpenSpan(tracing, start(tracing, name, attributes));
}

export async function inSpan<Result>(
  name: string,
  attributes: SpanAttributes,
  work: () => Promise<Result>,
): Promise<Result> {
  const span = beginSpan(name, attributes);
  if (!span) return work();
  try {
    const result = await span.run(work);
    span.end();
    return result;
  } catch (error) {
    // The span omits the error's message, which may contain text from outside the service.
    span.end({ 'error.type': error instanceof Error ? error.name : 'unknown' });
    throw error;
  }
}

export function annotateSpan(attributes: SpanAttributes): void {
  active.getStore()?.setAttributes(attributes);
}

export function captureOrigin(): Origin {
  const run = AsyncLocalStorage.snapshot();
  return { span: active.getStore(), run: (work) => run(work) };
}

/** Runs work in a child span of the first recorded origin, and links the other origins to it. */
export function inSharedSpan<Result>(
  name: string,
  attributes: SpanAttributes,
  origins: readonly Origin[],
  none: Origin,
  work: () => Promise<Result>,
): Promise<Result> {
  const first = origins.find(({ span }) => isRecorded(span)) ?? origins[0] ?? none;
  return first.run(() =>
    inSpan(name, attributes, () => {
      const shared = active.getStore();
      const others = new Set(origins.map(({ span }) => span));
      others.delete(first.span);
      for (const other of others) {
        if (!shared || !other) continue;
        shared.addLink({ context: other.spanContext() });
        other.addLink({ context: shared.spanContext() });
      }
      return work();
    }),
  );
}

function start({ api, tracer }: Tracing, name: string, attributes: SpanAttributes): Api.Span {
  const above = active.getStore();
  const context = above ? api.trace.setSpan(api.ROOT_CONTEXT, above) : api.ROOT_CONTEXT;
  const called = attributes['provider.method'] ?? attributes['payments.method'];
  const kind = called === undefined ? api.SpanKind.INTERNAL : api.SpanKind.CLIENT;
  return tracer.startSpan(name, { kind, attributes }, context);
}

function toOpenSpan({ api }: Tracing, span: Api.Span): OpenSpan {
  return {
    traceId: isRecorded(span) ? span.spanContext().traceId : undefined,
    run: (work) => active.run(span, work),
    end: (attributes = {}) => {
      span.setAttributes(attributes);
      const { 'http.request.method': method, 'http.route': route, 'error.type': error } = attributes;
      if (method !== undefined && route !== undefined) span.updateName(`${method} ${route}`);
      if (error !== undefined) span.setStatus({ code: api.SpanStatusCode.ERROR });
      span.end();
    },
  };
}

const isRecorded = (span: Api.Span | undefined): boolean =>
  span !== undefined && (span.spanContext().traceFlags & 1) === 1;

const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}$/;

function readTraceparent(text: string | undefined): Api.SpanContext | undefined {
  const [, traceId, spanId] = TRACEPARENT.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return /^0+$/.test(traceId) || /^0+$/.test(spanId) ? undefined : { traceId, spanId, traceFlags: 0 };
}
