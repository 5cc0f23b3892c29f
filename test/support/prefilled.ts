import { type PrefilledRequest, prefilledRequests } from './docs-page';
import { startTcpRelay } from './tcp-relay';
import { startTestService, type TestService } from './test-service';
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver';

export interface Executed extends PrefilledRequest {
  readonly status: number;
  readonly mediaType: string;
  readonly text: string;
}

export interface DemoService {
  readonly service: TestService;
  /** Receives the webhooks of the page's examples instead of example.com. */
  readonly receiver: WebhookReceiver;
  close(): Promise<void>;
}

/** Like `npm start`: an empty database, a sandbox and an echo endpoint. */
export async function startDemoService(): Promise<DemoService> {
  const relay = await startTcpRelay();
  const receiver = await startWebhookReceiver();
  const service = await startTestService({
    environment: { ECHO_URL: `http://127.0.0.1:${relay.port}/echo`, WEBHOOK_ALLOW_HTTP: 'true' },
  });
  relay.target = Number(new URL(service.baseUrl).port);
  return {
    service,
    receiver,
    async close() {
      await service.close();
      await receiver.close();
      await relay.close();
    },
  };
}

/** Purchases come first, then other creations, then reads, changes and deletions. */
function rank({ method, path, name }: PrefilledRequest): number {
  if (name === 'POST /proxies/buy') return 0;
  const hasId = /\/\d+(\/|$)/.test(path);
  if (method === 'POST' && !hasId) return 1;
  if (method === 'GET') return 2;
  if (method !== 'DELETE') return 3;
  return hasId ? 4 : 5;
}

export async function executeAll(
  { service: { baseUrl }, receiver }: DemoService,
  page: string,
  token: string,
): Promise<{ executed: Executed[]; notSent: PrefilledRequest[] }> {
  const requests = await prefilledRequests(baseUrl + page);
  const sent = requests.filter(({ empty }) => empty.length === 0);
  const executed: Executed[] = [];
  for (const request of sent.sort((one, other) => rank(one) - rank(other))) {
    const { method, path, headers, body } = request;
    const response = await fetch(baseUrl + path, {
      method,
      headers: {
        ...headers,
        Authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: body.replace('https://example.com/hooks', receiver.url) }),
      signal: AbortSignal.timeout(20_000),
    });
    const [mediaType = ''] = (response.headers.get('content-type') ?? '').split(';');
    executed.push({ ...request, status: response.status, mediaType, text: await response.text() });
  }
  return { executed, notSent: requests.filter(({ empty }) => empty.length > 0) };
}
