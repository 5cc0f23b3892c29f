import { AsyncLocalStorage } from 'node:async_hooks';
import type * as Api from '@opentelemetry/api';

/** What a span may tell: fixed words, numbers and our own ids. Nothing that others wrote. */
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

/** What OpenTelemetry gives while traces are on. Until then not even its interface is loaded. */
export interface Tracing {
  readonly api: typeof Api;
  readonly tracer: Api.Tracer;
}

/** A span that is ended by whoever began it. */
export interface OpenSpan {
  /** Of the trace, when it is recorded: not every request is. */
  readonly traceId: string | undefined;
  /** Runs work whose spans stand below this one. */
  run<Result>(work: () => Result): Result;
  /** A span with an `error.type` has failed. */
  end(attributes?: SpanAttributes): void;
}

/** Where work was asked for: it can be done later as a part of what asked, together with other work. */
export interface Origin {
  /** The span that asked; undefined when there was none. */
  readonly span: Api.Span | undefined;
  /** Runs work as a part of what asked: its log lines name that request. */
  run<Result>(work: () => Result): Result;
}

let tracing: Tracing | undefined;
const active = new AsyncLocalStorage<Api.Span>();

/** Has spans recorded from now on; undefined: no longer. */
export function recordSpans(by: Tracing | undefined): void {
  tracing = by;
}

/**
 * Begins the span of a request. It begins a trace: a caller is not believed about what to record, so its
 * `traceparent` becomes a link and decides nothing.
 */
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

/** Begins a span below the active one. */
export function beginSpan(name: string, attributes: SpanAttributes): OpenSpan | undefined {
  return tracing && toOpenSpan(tracing, start(tracing, name, attributes));
}

/** Does work in a span below the active one. */
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
    // The message of an error may say anything.
    span.end({ 'error.type': error instanceof Error ? error.name : 'unknown' });
    throw error;
  }
}

/** Adds to the active span. */
export function noteInSpan(attributes: SpanAttributes): void {
  active.getStore()?.setAttributes(attributes);
}

/** Remembers where work was asked for. */
export function origin(): Origin {
  const run = AsyncLocalStorage.snapshot();
  return { span: active.getStore(), run: (work) => run(work) };
}

/**
 * Does work that several asked for in one span. It stands below the first of them that is recorded; the spans
 * of the others and this one are linked both ways.
 *
 * @param origins who asked; nobody here when another replica's requests did
 * @param nobody where the work is done when nobody here asked for it
 */
export function inSharedSpan<Result>(
  name: string,
  attributes: SpanAttributes,
  origins: readonly Origin[],
  nobody: Origin,
  work: () => Promise<Result>,
): Promise<Result> {
  const first = origins.find(({ span }) => isRecorded(span)) ?? origins[0] ?? nobody;
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

/** Gives what a link needs, and undefined for anything that is not the header's form. */
function readTraceparent(text: string | undefined): Api.SpanContext | undefined {
  const [, traceId, spanId] = TRACEPARENT.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return /^0+$/.test(traceId) || /^0+$/.test(spanId) ? undefined : { traceId, spanId, traceFlags: 0 };
}
