import { createClient } from 'proxy-rental-client';

const COUNT = 20;
const HIGHEST_PRICE = 26;
const client = createClient({ baseUrl: process.env['URL'] ?? '', token: process.env['TOKEN'] ?? '' });

async function buy(key: string, count: number): Promise<number> {
  const { data, error, response } = await client.POST('/proxies/buy', {
    params: { header: { 'Idempotency-Key': key } },
    body: { country: 'ru', period: 30, count, max_price: (count * HIGHEST_PRICE).toFixed(2) },
  });
  console.log(response.status, JSON.stringify(data ?? error));
  if (data && 'proxies' in data) return data.proxies.length;
  const { status, headers } = response;
  const isOpen = status >= 500 || [401, 403, 429].includes(status) || headers.has('Retry-After');
  process.exit(isOpen ? 75 : 1);
}

const key = `nightly-${new Date().toISOString().slice(0, 10)}`;
try {
  const bought = await buy(key, COUNT);
  if (bought < COUNT) await buy(`${key}-rest`, COUNT - bought);
} catch (failure) {
  console.error(failure); // no response for ten minutes
  process.exit(75);
}
