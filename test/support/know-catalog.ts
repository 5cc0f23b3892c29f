import type { ApiClient } from './api-client';

/** Fetches what orders are checked against, so that no order calls the provider for it. */
export async function knowCatalog(api: ApiClient, countries: readonly string[] = ['ru']): Promise<void> {
  await api.GET('/price', { params: { query: { count: 1, period: 30 } } });
  for (const country of countries) {
    await api.GET('/countries/{country}/count', { params: { path: { country } } });
  }
}
