import type { Request, Response } from 'express';
import type { Metrics } from '../metrics';

/** Methods with a label of their own. All others share one, because callers may invent methods. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const OTHER_METHOD = 'other';

export const UNMATCHED_ROUTE = 'unmatched';

/**
 * Returns a template such as `/proxies/{proxy_id}`. If paths were labels, callers could create any number of
 * labels.
 */
export function routeTemplate({ route }: Pick<Request, 'route'>): string {
  const path = (route as { readonly path?: unknown } | undefined)?.path;
  return typeof path === 'string' ? path.replace(/:(\w+)/g, '{$1}') : UNMATCHED_ROUTE;
}

const unmeasured = new WeakSet<Response>();

/** Excludes a response from the request durations, because the caller decides how long it takes. */
export const withoutDuration = (response: Response): void => void unmeasured.add(response);

export function countRequest(
  metrics: Metrics,
  request: Request,
  response: Response,
  elapsedMs: number,
): void {
  if (!metrics.isEnabled) return;
  const method = METHODS.has(request.method) ? request.method : OTHER_METHOD;
  const route = routeTemplate(request);
  const status = response.writableFinished ? String(response.statusCode) : 'aborted';
  metrics.count('http_requests_total', { method, route, status });
  if (unmeasured.has(response)) return;
  metrics.observe('http_request_duration_seconds', { method, route }, elapsedMs / 1000);
}

export function countMalformedRequest(metrics: Metrics, status: number): void {
  const labels = { method: OTHER_METHOD, route: UNMATCHED_ROUTE, status: String(status) };
  metrics.count('http_requests_total', labels);
}
