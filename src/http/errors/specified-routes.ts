/** Routes of the specified interface, whose errors contain exactly the specified fields. */
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

/** Whether the interface specifies a route, such as `GET /countries/{country}/count`. */
export const isSpecified = (route: string): boolean => SPECIFIED.has(route.replace(/^HEAD /, 'GET '));
