import createClient, { type Client } from 'openapi-fetch';
import type { paths } from './api-types';

export type ApiClient = Client<paths>;

/** A client generated from the service's own description: what a customer's would be. */
export function createApiClient(baseUrl: string, token: string): ApiClient {
  return createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
}
