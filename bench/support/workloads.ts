import type { BenchRequest } from './load';

export interface Workload {
  readonly title: string;
  readonly proxies: number;
  /** So many that concurrent requests rarely share one, unless this is measured. */
  readonly customers: number;
  readonly request: (token: string) => BenchRequest;
}

const READERS = 50;
const BUYERS = 200;

const read = (path: string, proxies = 10): Workload => ({
  title: `GET ${path}${proxies === 10 ? '' : `, ${proxies} proxies`}`,
  proxies,
  customers: READERS,
  request: (token) => ({ method: 'GET', path, headers: { authorization: `Bearer ${token}` } }),
});

const buy = (count: number, customers: number): Workload => ({
  title: `POST /proxies/buy, ${count}, ${customers === 1 ? 'one user' : 'many users'}`,
  proxies: 0,
  customers,
  request: (token) => ({
    method: 'POST',
    path: '/proxies/buy',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ country: 'ru', period: 30, count }),
  }),
});

export const WORKLOADS = {
  health: read('/health'),
  me: read('/me'),
  countries: read('/countries?version=6'),
  price: read('/price?count=10&period=30&version=6'),
  'proxies-10': read('/proxies'),
  'proxies-100': read('/proxies', 100),
  'proxies-1000': read('/proxies', 1000),
  'export-100': read('/proxies/export?format=txt', 100),
  'buy-1': buy(1, BUYERS),
  'buy-1-busy': buy(1, 1),
  'buy-100': buy(100, BUYERS),
  'buy-100-busy': buy(100, 1),
} satisfies Record<string, Workload>;

export type WorkloadName = keyof typeof WORKLOADS;

export const WORKLOAD_NAMES = Object.keys(WORKLOADS) as WorkloadName[];
