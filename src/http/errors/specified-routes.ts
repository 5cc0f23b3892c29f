/** Routes whose API contract must not change, including the exact fields of their errors (docs/api.md). */
const SPECIFIED: ReadonlySet<string> = new Set([
  'GET /health',
  'GET /me',
  'GET /countries',
  'GET /countries/{country}/count',
  'GET /price',
  'GET /proxies',
  'GET /proxies/export',
  'GET /proxies/{proxy_id}/ping',
  'POST /proxies/buy',
  'POST /proxies/{proxy_id}/prolong',
]);

/** @param route e.g. `GET /countries/{country}/count` */
export const isSpecified = (route: string): boolean => SPECIFIED.has(route.replace(/^HEAD /, 'GET '));
