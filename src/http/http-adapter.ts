import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import { type ConnectionBounds, Connections } from './connections';
import { oneAtATime } from './pipelining';

/** The prototypes that Express gives to requests and responses. Express publishes no types for them. */
interface Prototypes {
  request: object;
  response: object;
}

/** How often idle kept-alive connections are closed while the server closes. */
const CLOSE_IDLE_MS = 50;
/** How late an incomplete request may be refused. Node's default of 30 s would double its time limits. */
const CHECK_ARRIVAL_MS = 500;

/** Nest on Express, with bounds on connections and pipelined requests, and a bounded close. */
export class HttpAdapter extends ExpressAdapter {
  private closing: Promise<void> | undefined;
  private keepsNone = false;
  private readonly pages: (() => void)[] = [];
  private readonly connections = new Connections();

  /** @param graceMs how long requests in progress may take after the server closes: a download may stall */
  constructor(private readonly graceMs: number) {
    super();
  }

  /** Ignores Nest's options for a server: the service uses none. */
  override initHttpServer(): void {
    this.httpServer = createServer(
      { ...messageClasses(this.getInstance()), connectionsCheckingInterval: CHECK_ARRIVAL_MS },
      oneAtATime(this.getInstance()),
    );
  }

  /**
   * Adds pages after all routes of the controllers. The router tries one route after the other, and rarely
   * requested pages should not slow every request.
   */
  addPages(add: () => void): void {
    this.pages.push(add);
  }

  /** Nest calls this once it has added the routes of all controllers. */
  override setNotFoundHandler(...parameters: Parameters<ExpressAdapter['setNotFoundHandler']>): unknown {
    for (const add of this.pages) add();
    return super.setNotFoundHandler(...parameters);
  }

  boundConnections(bounds: ConnectionBounds): void {
    this.connections.follow(this.httpServer, bounds);
  }

  /** From now on, every response closes its connection, so that clients move to another replica. */
  keepNoConnections(): void {
    if (this.keepsNone) return;
    this.keepsNone = true;
    const server: Server = this.httpServer;
    server.prependListener('request', (_request, response: ServerResponse) => {
      response.shouldKeepAlive = false;
    });
  }

  /** Accepts no more connections, and waits for the requests in progress. May be called more than once. */
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
 * The classes of an application's requests and responses. Express replaces the prototype of each request and
 * response, which keeps V8 from optimizing all code that touches them, including Node's own HTTP code:
 * without these classes, `GET /health` takes four times the processor time
 * (docs/decisions/0013-fast-reads.md). They have Express's prototypes already, so that it replaces nothing.
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
