import type { Request, Response } from 'express';
import type { Metrics } from '../metrics';

/** Methods with their own label. All others, which callers may invent, share one label. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const OTHER_METHOD = 'other';

/** Label of all requests that reach no route. */
export const UNMATCHED_ROUTE = 'unmatched';

/**
 * Returns the route template as in the OpenAPI document: `/proxies/{proxy_id}`. Never returns a path, because
 * callers could create any number of labels with paths.
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

/** Counts a request that was refused before its method and path were known. */
export function countMalformedRequest(metrics: Metrics, status: number): void {
  const labels = { method: OTHER_METHOD, route: UNMATCHED_ROUTE, status: String(status) };
  metrics.count('http_requests_total', labels);
}
