import { once } from 'node:events';
import http from 'node:http';
import { Webhook } from 'standardwebhooks';
import { listen } from './listen';

/** A secret as the service makes them, for webhooks that a test writes into the database itself. */
export const TEST_SECRET = `whsec_${Buffer.from('a secret of 24 bytes or so').toString('base64')}`;

export interface ReceivedWebhook {
  readonly path: string;
  /** The header `webhook-id`. */
  readonly id: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  readonly atMs: number;
  /** How many requests of the path were open when it came, with itself. */
  readonly atOnce: number;
}

/** Returns the status to respond with, `hang` for none, or writes the response itself and returns nothing. */
export type Responder = (
  received: ReceivedWebhook,
  response: http.ServerResponse,
) => number | 'hang' | undefined;

export interface WebhookReceiver {
  readonly url: string;
  readonly received: ReceivedWebhook[];
  /** Requests whose signature is not that of any secret of their path. */
  readonly forged: ReceivedWebhook[];
  /** How many requests of a path were open at once, at most. */
  mostAtOnce(path: string): number;
  /** Secrets of a path whose signatures count; a path without any has {@link TEST_SECRET}. */
  trust(path: string, ...secrets: string[]): void;
  responder: Responder;
  of(path: string): ReceivedWebhook[];
  close(): Promise<void>;
}

/** A receiver on loopback that verifies every signature, as a customer would with `standardwebhooks`. */
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
  // A replica that is killed may leave requests that are never closed.
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
