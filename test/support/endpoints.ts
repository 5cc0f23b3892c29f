import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scope } from '../../src/auth';

export interface Endpoint {
  readonly method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';
  /** With an id that belongs to no user where the path has one. */
  readonly path: string;
  readonly scope: Scope;
  /** A valid body, where one is needed. */
  readonly body?: string;
}

/** Every endpoint that needs a token, as a valid request. */
export const PROTECTED_ENDPOINTS: readonly Endpoint[] = [
  { method: 'GET', path: '/me', scope: 'profile:read' },
  { method: 'GET', path: '/ledger', scope: 'profile:read' },
  { method: 'GET', path: '/ledger/csv', scope: 'profile:read' },
  { method: 'GET', path: '/usage', scope: 'profile:read' },
  { method: 'GET', path: '/countries', scope: 'countries:read' },
  { method: 'GET', path: '/countries/ru/count', scope: 'countries:read' },
  { method: 'GET', path: '/price?count=1&period=30', scope: 'price:read' },
  { method: 'GET', path: '/proxies', scope: 'proxies:read' },
  { method: 'GET', path: '/proxies/export', scope: 'proxies:export' },
  { method: 'GET', path: '/proxies/lists/url', scope: 'proxies:export' },
  { method: 'GET', path: '/proxies/lists/template?template=a', scope: 'proxies:export' },
  { method: 'GET', path: '/proxies/1/ping', scope: 'proxies:read' },
  { method: 'GET', path: '/proxies/1', scope: 'proxies:read' },
  { method: 'GET', path: '/proxies/1/history', scope: 'proxies:read' },
  { method: 'PATCH', path: '/proxies/1', scope: 'proxies:write', body: '{"descr":"mine"}' },
  { method: 'PATCH', path: '/proxies', scope: 'proxies:write', body: '{"proxy_ids":["1"],"tags":[]}' },
  { method: 'GET', path: '/proxies/1/check', scope: 'proxies:read' },
  { method: 'GET', path: '/proxies/1/checks', scope: 'proxies:read' },
  { method: 'POST', path: '/proxies/buy', scope: 'proxies:write', body: '{"country":"ru","period":30}' },
  { method: 'POST', path: '/proxies/1/prolong', scope: 'proxies:write', body: '{"period":30}' },
  { method: 'PUT', path: '/proxies/1/type', scope: 'proxies:write', body: '{"proxy_type":"socks"}' },
  { method: 'GET', path: '/renewals', scope: 'proxies:read' },
  { method: 'GET', path: '/renewals/forecast', scope: 'profile:read' },
  { method: 'GET', path: '/renewals/rules', scope: 'proxies:read' },
  { method: 'POST', path: '/renewals/rules', scope: 'proxies:write', body: '{"target":"all","period":30}' },
  { method: 'DELETE', path: '/renewals/rules', scope: 'proxies:read' },
  { method: 'DELETE', path: '/renewals/rules/999', scope: 'proxies:read' },
  { method: 'POST', path: '/renewals/exclusions', scope: 'proxies:read', body: '{"proxy_id":"1"}' },
  { method: 'GET', path: '/renewals/budget', scope: 'proxies:read' },
  { method: 'PUT', path: '/renewals/budget', scope: 'proxies:read', body: '{"monthly":"5000.00"}' },
  { method: 'POST', path: '/links', scope: 'proxies:export', body: '{"format":"txt"}' },
  { method: 'GET', path: '/events', scope: 'events:read' },
  { method: 'GET', path: '/events/settings', scope: 'events:read' },
  { method: 'PUT', path: '/events/settings', scope: 'events:write', body: '{"balance_low":"500.00"}' },
  { method: 'GET', path: '/links', scope: 'proxies:export' },
  { method: 'GET', path: '/links/999', scope: 'proxies:export' },
  { method: 'DELETE', path: '/links/999', scope: 'proxies:export' },
  { method: 'POST', path: '/webhooks', scope: 'events:write', body: '{"url":"https://127.0.0.1/hooks"}' },
  { method: 'GET', path: '/webhooks', scope: 'events:read' },
  { method: 'GET', path: '/webhooks/999', scope: 'events:read' },
  { method: 'PATCH', path: '/webhooks/999', scope: 'events:write', body: '{"enabled":true}' },
  { method: 'DELETE', path: '/webhooks/999', scope: 'events:write' },
  { method: 'POST', path: '/webhooks/999/secret', scope: 'events:write', body: '{}' },
  { method: 'GET', path: '/webhooks/999/attempts', scope: 'events:read' },
  { method: 'POST', path: '/webhooks/999/replay', scope: 'events:write', body: '{"event_id":"evt_1"}' },
  { method: 'POST', path: '/webhooks/999/test', scope: 'events:write' },
];

const reference = JSON.parse(readFileSync(join(__dirname, '../fixtures/reference-openapi.json'), 'utf8')) as {
  readonly paths: Readonly<Record<string, object>>;
};

/** Whether the reference has the endpoint. The errors of such an endpoint have no code. */
export const isSpecified = ({ method, path }: Pick<Endpoint, 'method' | 'path'>): boolean =>
  Object.entries(reference.paths).some(
    ([template, methods]) =>
      method.toLowerCase() in methods &&
      new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path.replace(/\?.*/, '')),
  );
