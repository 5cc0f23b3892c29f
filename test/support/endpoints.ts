import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scope } from '../../src/auth';

const LISTS = ['json', 'txt', 'url', 'csv', 'curl', 'proxychains', 'playwright', 'clash', 'sing-box'];

/**
 * Every customer route where no deposits are accepted, its scope, and its errors in addition to those of any
 * route. The last text is the query or body of a valid request.
 */
const ROUTES: readonly (readonly [name: string, scope: Scope | null, errors: string, given?: string])[] = [
  ['GET /health', null, ''],
  ['GET /me', 'profile:read', ''],
  ['GET /ledger', 'profile:read', '422'],
  ['GET /ledger/csv', 'profile:read', '422'],
  ['GET /usage', 'profile:read', ''],
  ['GET /countries', 'countries:read', '422'],
  ['GET /countries/{country}/count', 'countries:read', '422'],
  ['GET /price', 'price:read', '422', 'count=1&period=30'],
  ['GET /prices', 'price:read', ''],
  ['GET /proxies', 'proxies:read', '422'],
  ['GET /proxies/export', 'proxies:export', '422'],
  ...LISTS.map((format) => [`GET /proxies/lists/${format}`, 'proxies:export', '422'] as const),
  ['GET /proxies/lists/template', 'proxies:export', '422', 'template=a'],
  ['GET /orders', 'proxies:read', '422'],
  ['GET /orders/{order_id}', 'proxies:read', '404 422'],
  ['GET /proxies/{proxy_id}/ping', 'proxies:read', '404 422'],
  ['GET /proxies/{proxy_id}', 'proxies:read', '404'],
  ['GET /proxies/{proxy_id}/history', 'proxies:read', '404 422'],
  ['PATCH /proxies/{proxy_id}', 'proxies:write', '404 413 422', '{"descr":"mine"}'],
  ['PATCH /proxies', 'proxies:write', '413 422', '{"proxy_ids":["1"],"tags":[]}'],
  ['POST /proxies/ping', 'proxies:read', '413 422', '{"proxy_ids":["1"]}'],
  ['POST /proxies/prolong', 'proxies:write', '409 413 422', '{"filter":{},"period":30}'],
  ['POST /proxies/buy', 'proxies:write', '409 413 422', '{"country":"ru","period":30}'],
  ['POST /proxies/{proxy_id}/prolong', 'proxies:write', '404 409 413 422', '{"period":30}'],
  ['PUT /proxies/{proxy_id}/type', 'proxies:write', '404 409 413 422', '{"proxy_type":"socks"}'],
  ['GET /proxies/{proxy_id}/check', 'proxies:read', '404 409'],
  ['GET /proxies/{proxy_id}/checks', 'proxies:read', '404 422'],
  ['POST /proxies/{proxy_id}/refund', 'proxies:write', '404 409'],
  ['GET /proxies/{proxy_id}/refund', 'proxies:read', '404 422'],
  ['GET /refunds/rule', 'proxies:read', ''],
  ['POST /links', 'proxies:export', '409 413 422', '{"format":"txt"}'],
  ['GET /links', 'proxies:export', '422'],
  ['GET /events', 'events:read', '410 422'],
  ['GET /events/settings', 'events:read', ''],
  ['PUT /events/settings', 'events:write', '413 422', '{"balance_low":"500.00"}'],
  ['GET /links/{link_id}', 'proxies:export', '404 422'],
  ['DELETE /links/{link_id}', 'proxies:export', '404 422'],
  ['GET /renewals', 'proxies:read', '422'],
  ['GET /renewals/forecast', 'profile:read', '422'],
  ['GET /renewals/rules', 'proxies:read', '422'],
  ['POST /renewals/rules', 'proxies:write', '404 409 413 422', '{"target":"all","period":30}'],
  ['DELETE /renewals/rules', 'proxies:write', ''],
  ['DELETE /renewals/rules/{rule_id}', 'proxies:write', '404 422'],
  ['POST /renewals/exclusions', 'proxies:write', '404 413 422', '{"proxy_id":"1"}'],
  ['GET /renewals/budget', 'proxies:read', ''],
  ['PUT /renewals/budget', 'proxies:write', '413 422', '{"monthly":"5000.00"}'],
  ['POST /webhooks', 'events:write', '409 413 422', '{"url":"https://127.0.0.1/hooks"}'],
  ['GET /webhooks', 'events:read', '422'],
  ['GET /webhooks/{webhook_id}', 'events:read', '404 422'],
  ['PATCH /webhooks/{webhook_id}', 'events:write', '404 409 413 422', '{"enabled":true}'],
  ['DELETE /webhooks/{webhook_id}', 'events:write', '404 422'],
  ['POST /webhooks/{webhook_id}/secret', 'events:write', '404 413 422', '{}'],
  ['GET /webhooks/{webhook_id}/attempts', 'events:read', '404 422'],
  ['POST /webhooks/{webhook_id}/replay', 'events:write', '404 409 410 413 422', '{"event_id":"evt_1"}'],
  ['POST /webhooks/{webhook_id}/test', 'events:write', '404 409 422'],
  ['GET /l/{secret}', null, '404 422 429 503'],
  ['GET /tokens', 'tokens:write', '422'],
  ['POST /tokens', 'tokens:write', '409 413 422', '{"scopes":["profile:read"]}'],
  ['DELETE /tokens/{token_id}', 'tokens:write', '404 422'],
  ['POST /auth/telegram', null, '401 403 404 413 422 429 503'],
];

const reference = JSON.parse(readFileSync(join(__dirname, '../fixtures/reference-openapi.json'), 'utf8')) as {
  readonly paths: Readonly<Record<string, object>>;
};

export const ENDPOINTS = ROUTES.map(([name, scope, errors, given]) => {
  const [method = '', template = ''] = name.split(' ');
  const ids = { '{country}': 'ru', '{proxy_id}': '1' };
  const path = template.replace(/\{\w+\}/, (id) => Reflect.get(ids, id) ?? '999');
  const hasQuery = method === 'GET' && given !== undefined;
  return {
    name,
    method,
    path: hasQuery ? `${path}?${given}` : path,
    scope,
    errors: errors === '' ? [] : errors.split(' '),
    body: hasQuery ? undefined : given,
    /** Errors of specified routes have no code. */
    isSpecified: method.toLowerCase() in (reference.paths[template] ?? {}),
  };
});

export const PROTECTED_ENDPOINTS = ENDPOINTS.flatMap(({ scope, ...one }) =>
  scope ? [{ ...one, scope }] : [],
);
