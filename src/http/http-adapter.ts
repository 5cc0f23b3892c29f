import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import { type ConnectionBounds, Connections } from './connections';
import { oneAtATime } from './pipelining';

interface Prototypes {
  request: object;
  response: object;
}

const CLOSE_IDLE_MS = 50;
/** How often Node looks for timed-out requests. The default of 30 s would delay timeouts. */
const CHECK_ARRIVAL_MS = 500;

/** Nest's Express adapter, with limits on connections, pipelined requests and shutdown time. */
export class HttpAdapter extends ExpressAdapter {
  private closing: Promise<void> | undefined;
  private keepsNone = false;
  private readonly pages: (() => void)[] = [];
  private readonly connections = new Connections();

  /** @param graceMs how long shutdown waits for requests in progress, e.g. a stalled download */
  constructor(private readonly graceMs: number) {
    super();
  }

  /** Ignores Nest's server options. */
  override initHttpServer(): void {
    this.httpServer = createServer(
      { ...messageClasses(this.getInstance()), connectionsCheckingInterval: CHECK_ARRIVAL_MS },
      oneAtATime(this.getInstance()),
    );
  }

  /** Adds pages that are routed after all controllers' routes. */
  addPages(add: () => void): void {
    this.pages.push(add);
  }

  /** Nest calls this method after it has added all controllers' routes. */
  override setNotFoundHandler(...parameters: Parameters<ExpressAdapter['setNotFoundHandler']>): unknown {
    for (const add of this.pages) add();
    return super.setNotFoundHandler(...parameters);
  }

  boundConnections(bounds: ConnectionBounds): void {
    this.connections.follow(this.httpServer, bounds);
  }

  /** Makes every later response close its connection, so that clients move to another replica. */
  keepNoConnections(): void {
    if (this.keepsNone) return;
    this.keepsNone = true;
    const server: Server = this.httpServer;
    server.prependListener('request', (_request, response: ServerResponse) => {
      response.shouldKeepAlive = false;
    });
  }

  override close(): Promise<void> {
    this.closing ??= new Promise((resolve) => {
      const server: Server = this.httpServer;
      this.keepNoConnections();
      const closeSilent = this.connections.silentCloser();
      const idle = setInterval(() => {
        server.closeIdleConnections();
        closeSilent();
      }, CLOSE_IDLE_MS);
      const grace = setTimeout(() => server.closeAllConnections(), this.graceMs);
      server.close(() => {
        clearInterval(idle);
        clearTimeout(grace);
        resolve();
      });
    });
    return this.closing;
  }
}

/**
 * Gives the server's messages Express's prototypes from the start. Express would otherwise replace each
 * message's prototype, which slows V8 down (docs/decisions/0013-fast-reads.md).
 */
function messageClasses(express: Prototypes) {
  class Request extends IncomingMessage {}
  class Response extends ServerResponse {}
  Object.setPrototypeOf(Request.prototype, express.request);
  Object.setPrototypeOf(Response.prototype, express.response);
  express.request = Request.prototype;
  express.response = Response.prototype;
  return { IncomingMessage: Request, ServerResponse: Response };
}
