import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { KEEP_ALIVE_MS, readText, stopListening } from '../system';
import { ControlError, type ControlResponse, type controlRoutes } from './control-routes';

const MAX_BODY_BYTES = 1_000_000;

/**
 * Must start listening before the directory is locked: its response proves to other processes that the lock's
 * owner is alive.
 */
export class ControlServer {
  readonly server: Server;
  private routes: ReturnType<typeof controlRoutes> = {};

  constructor(
    private readonly instance: string,
    private readonly secret: string,
  ) {
    this.server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
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
    const { status, json } = await this.handle(request, url).catch(responseTo);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
  }

  private async handle(request: IncomingMessage, { pathname, searchParams }: URL): Promise<ControlResponse> {
    const endpoint = `${request.method} ${pathname}`;
    refuseForeign(request);
    // Needs no secret: a process that checks whether the lock's owner is alive does not know the secret yet.
    if (endpoint === 'GET /') return { status: 200, json: { instance: this.instance } };
    refuseStranger(request, this.secret);
    const id = /\/(\d{1,15})(?=\/|$)/.exec(endpoint)?.[1];
    const name = id === undefined ? endpoint : endpoint.replace(`/${id}`, '/:id');
    const route = Object.hasOwn(this.routes, name) ? this.routes[name] : undefined;
    if (!route) throw new ControlError(404, `${endpoint} does not exist`);
    const response = await route({ id: Number(id), query: searchParams, body: await readJson(request) });
    return response ?? { status: 200, json: { done: true } };
  }
}

function responseTo(error: unknown): ControlResponse {
  if (error instanceof ControlError) return { status: error.status, json: { error: error.message } };
  if (error instanceof z.ZodError) return { status: 400, json: { error: z.prettifyError(error) } };
  if (error instanceof SyntaxError) return { status: 400, json: { error: 'The body is not JSON' } };
  return { status: 500, json: { error: 'Internal Server Error' } };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const tooLong = new ControlError(400, `The body is longer than ${MAX_BODY_BYTES} bytes`);
  const body = await readText(request, MAX_BODY_BYTES, tooLong);
  return body === '' ? undefined : JSON.parse(body);
}

/** Refuses requests from web pages. They send a foreign origin, or a foreign host name (DNS rebinding). */
function refuseForeign({ headers, socket }: IncomingMessage): void {
  const names = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${socket.localPort}`);
  if (!names.includes(headers.host?.toLowerCase() ?? '')) {
    throw new ControlError(403, 'Host is not this machine');
  }
  if (headers.origin !== undefined) {
    throw new ControlError(403, 'Web pages must not use the control interface');
  }
}

function refuseStranger({ headers }: IncomingMessage, secret: string): void {
  if (timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${secret}`))) return;
  throw new ControlError(401, 'Authorization must be "Bearer" followed by controlSecret from address.json');
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
