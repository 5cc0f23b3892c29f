import type { BenchRequest } from './subjects';

/** Sends a request that is not measured. @throws Error when the response is not 200 */
export async function sendRequest(baseUrl: string, { path, token, body }: BenchRequest): Promise<Buffer> {
  const answer = await fetch(baseUrl + path, {
    headers: {
      ...(token !== null && { Authorization: `Bearer ${token}` }),
      'Content-Type': 'application/json',
    },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`);
  return Buffer.from(await answer.arrayBuffer());
}

export interface OrderAnswer {
  readonly order_id: number;
  /** Only of a purchase. */
  readonly proxies?: readonly { readonly id: string }[];
}

/** Sends a purchase or a prolongation. @throws Error when it is not delivered */
export async function placeOrder(baseUrl: string, request: BenchRequest): Promise<OrderAnswer> {
  return JSON.parse((await sendRequest(baseUrl, request)).toString('utf8'));
}

export const purchase = (token: string, count: number): BenchRequest => ({
  path: '/proxies/buy',
  token,
  body: { country: 'ru', period: 30, count },
});

export const prolongation = (token: string, proxyId: string): BenchRequest => ({
  path: `/proxies/${proxyId}/prolong`,
  token,
  body: { period: 30 },
});
