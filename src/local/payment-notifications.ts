import type { AppConfig } from '../config';

const TIMEOUT_MS = 5000;

/**
 * Has a sandbox of payments notify this service. At the real provider, an operator subscribes in the profile
 * of the shop. Without notifications, payments are found by the checks of their deposits.
 */
export async function subscribeToSandbox({ payments }: AppConfig, serviceUrl: string): Promise<void> {
  const { provider, baseUrl, shopId = '', secretKey = '' } = payments;
  if (provider !== 'sandbox') return;
  await fetch(`${baseUrl}/webhooks`, {
    method: 'POST',
    headers: { Authorization: `Basic ${Buffer.from(`${shopId}:${secretKey}`).toString('base64')}` },
    body: JSON.stringify({ url: `${serviceUrl}/payments/sandbox/notifications` }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => undefined);
}
