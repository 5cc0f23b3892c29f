import { once } from 'node:events';
import http from 'node:http';
import { Webhook } from 'standardwebhooks';
import { listen } from './listen';

/** For webhooks that a test writes into the database itself. */
export const TEST_SECRET = `whsec_${Buffer.from('a secret of 24 bytes or so').toString('base64')}`;

export interface ReceivedWebhook {
  readonly path: string;
  readonly id: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  readonly atMs: number;
  /** Open requests of the path when this one came, including itself. */
  readonly atOnce: number;
}

/** Returns a status, or `hang` for no response, or writes the response and returns nothing. */
export type Responder = (
  received: ReceivedWebhook,
  response: http.ServerResponse,
) => number | 'hang' | undefined;

export interface WebhookReceiver {
  readonly url: string;
  readonly received: ReceivedWebhook[];
  readonly forged: ReceivedWebhook[];
  mostAtOnce(path: string): number;
  /** A path without secrets has {@link TEST_SECRET}. */
  trust(path: string, ...secrets: string[]): void;
  responder: Responder;
  of(path: string): ReceivedWebhook[];
  close(): Promise<void>;
}

/** Verifies every signature with `standardwebhooks`, as a customer would. */
export async function startWebhookReceiver(responder: Responder = () => 204): Promise<WebhookReceiver> {
  const secrets = new Map<string, readonly string[]>();
  const open = new Map<string, number>();
  const most = new Map<string, number>();
  const server = http.createServer((request, response) => {
    const path = request.url ?? '';
    const atOnce = (open.get(path) ?? 0) + 1;
    open.set(path, atOnce);
    most.set(path, Math.max(most.get(path) ?? 0, atOnce));
    response.on('close', () => open.set(path, (open.get(path) ?? 1) - 1));
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const { headers } = request;
      const webhook = { path, id: String(headers['webhook-id']), headers, body, atMs: Date.now(), atOnce };
      const trusted = secrets.get(path) ?? [TEST_SECRET];
      if (!trusted.every((secret) => isSigned(webhook, secret))) receiver.forged.push(webhook);
      receiver.received.push(webhook);
      const status = receiver.responder(webhook, response);
      if (typeof status === 'number') response.writeHead(status).end();
    });
  });
  // A killed replica may leave requests that are never closed.
  server.keepAliveTimeout = 60_000;
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${await listen(server)}`,
    received: [],
    forged: [],
    responder,
    mostAtOnce: (path) => most.get(path) ?? 0,
    trust: (path, ...trusted) => void secrets.set(path, trusted),
    of: (path) => receiver.received.filter((webhook) => webhook.path === path),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}

function isSigned({ body, headers }: ReceivedWebhook, secret: string): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}
