import createClient, { type Client } from 'openapi-fetch';
import type { components, paths as described } from '../../clients/typescript/src/api-types';

type InEarnest<Route extends { post: { responses: { 200: object } } }, Result> = Omit<Route, 'post'> & {
  post: Omit<Route['post'], 'responses'> & {
    responses: Omit<Route['post']['responses'], 200> & {
      200: Omit<Route['post']['responses'][200], 'content'> & { content: { 'application/json': Result } };
    };
  };
};

interface Orders {
  '/proxies/buy': InEarnest<described['/proxies/buy'], components['schemas']['PurchaseResponse']>;
  '/proxies/{proxy_id}/prolong': InEarnest<
    described['/proxies/{proxy_id}/prolong'],
    components['schemas']['ProlongResponse']
  >;
}

type paths = Omit<described, keyof Orders> & Orders;

export type ApiClient = Client<paths>;

/** The client generated from the API description. Its types describe real orders, not dry runs. */
export const createApiClient = (baseUrl: string, token: string): ApiClient =>
  createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

export const outcomeOf = (result: {
  readonly response: Response;
  readonly data?: unknown;
  readonly error?: unknown;
}): [status: number, body: unknown] => [result.response.status, result.data ?? result.error];

export const fetchAs = (
  { token }: { readonly token: string },
  method: string,
  url: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  fetch(url, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
