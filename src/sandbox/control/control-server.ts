import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { readText, stopListening } from '../system';
import { type ControlResponse, type controlRoutes, NotFoundError } from './control-routes';

const MAX_BODY_BYTES = 1_000_000;

class BodyTooLongError extends Error {}

/**
 * The control interface: JSON over HTTP, for tests. It listens first, because it proves that the owner of the
 * directory's lock is alive.
 */
export class ControlServer {
  readonly server: Server;
  private routes: ReturnType<typeof controlRoutes> = {};

  constructor(
    private readonly instance: string,
    private readonly secret: string,
  ) {
    this.server = createServer((request, response) => {
      this.serve(request, response).catch(() => response.destroy());
    });
  }

  offer(routes: ReturnType<typeof controlRoutes>): void {
    this.routes = routes;
  }

  async close(): Promise<void> {
    const stopped = stopListening(this.server);
    this.server.closeAllConnections();
    await stopped;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://sandbox.invalid');
    const endpoint = `${request.method} ${url.pathname}`;
    const foreign = findForeign(request);
    if (foreign) return send(response, foreign);
    // The next start in the directory requests this, before it can read the secret in the address.
    if (endpoint === 'GET /') return send(response, { status: 200, json: { instance: this.instance } });
    const stranger = findStranger(request, this.secret);
    if (stranger) return send(response, stranger);
    send(response, await this.handle(endpoint, url.searchParams, request));
  }

  private async handle(
    endpoint: string,
    query: URLSearchParams,
    request: IncomingMessage,
  ): Promise<ControlResponse> {
    const id = /\/(\d{1,15})(?=\/|$)/.exec(endpoint)?.[1];
    const name = id === undefined ? endpoint : endpoint.replace(`/${id}`, '/:id');
    const route = Object.hasOwn(this.routes, name) ? this.routes[name] : undefined;
    try {
      if (!route) throw new NotFoundError(`${endpoint} does not exist`);
      const response = await route({ id: Number(id), query, body: await readJson(request) });
      return response ?? { status: 200, json: { done: true } };
    } catch (error) {
      if (error instanceof z.ZodError) return { status: 400, json: { error: z.prettifyError(error) } };
      if (error instanceof SyntaxError) return { status: 400, json: { error: 'The body is not JSON' } };
      if (error instanceof BodyTooLongError) return { status: 400, json: { error: error.message } };
      if (error instanceof NotFoundError) return { status: 404, json: { error: error.message } };
      return { status: 500, json: { error: 'Internal Server Error' } };
    }
  }
}

function send(response: ServerResponse, { status, json }: ControlResponse): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(json));
}

/** Returns undefined without a body. @throws SyntaxError, BodyTooLongError */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const tooLong = new BodyTooLongError(`The body is longer than ${MAX_BODY_BYTES} bytes`);
  const body = await readText(request, MAX_BODY_BYTES, tooLong);
  return body === '' ? undefined : JSON.parse(body);
}

/**
 * Refuses requests of pages in a browser. A page of another site sends its origin, and one whose name was
 * made to resolve to this machine (DNS rebinding) sends that name as the host.
 */
function findForeign({ headers, socket }: IncomingMessage): ControlResponse | null {
  const names = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${socket.localPort}`);
  if (!names.includes(headers.host?.toLowerCase() ?? '')) return refusal(403, 'Host is not this machine');
  if (headers.origin !== undefined) return refusal(403, 'Pages may not use the control interface');
  return null;
}

/** Refuses clients that cannot read the sandbox's private files. */
function findStranger({ headers }: IncomingMessage, secret: string): ControlResponse | null {
  const isKnown = timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${secret}`));
  return isKnown ? null : refusal(401, 'Authorization must be "Bearer" and controlSecret of address.json');
}

function refusal(status: number, error: string): ControlResponse {
  return { status, json: { error } };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
