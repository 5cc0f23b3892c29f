import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import { type ConnectionBounds, Connections } from './connections';
import { oneAtATime } from './pipelining';

/** Express's prototypes for requests and responses. Express publishes no types for them. */
interface Prototypes {
  request: object;
  response: object;
}

/** Interval, in milliseconds, at which a closing server closes its idle connections. */
const CLOSE_IDLE_MS = 50;
/** Interval at which Node checks for requests that timed out. Its default of 30 s would delay timeouts. */
const CHECK_ARRIVAL_MS = 500;

/** Nest's Express adapter, with limits on connections, on pipelined requests, and on the time to close. */
export class HttpAdapter extends ExpressAdapter {
  private closing: Promise<void> | undefined;
  private keepsNone = false;
  private readonly pages: (() => void)[] = [];
  private readonly connections = new Connections();

  /** @param graceMs longest wait on shutdown for requests in progress, because a download may stall */
  constructor(private readonly graceMs: number) {
    super();
  }

  /** Creates the server. Ignores Nest's server options. */
  override initHttpServer(): void {
    this.httpServer = createServer(
      { ...messageClasses(this.getInstance()), connectionsCheckingInterval: CHECK_ARRIVAL_MS },
      oneAtATime(this.getInstance()),
    );
  }

  /** Adds pages that are routed after all routes of the controllers. */
  addPages(add: () => void): void {
    this.pages.push(add);
  }

  /** Nest calls this method after it has added the routes of all controllers. */
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

  /** Stops accepting connections, and waits for the requests in progress. May be called repeatedly. */
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
 * Returns the classes of an application's requests and responses, already with Express's prototypes.
 * Otherwise Express would replace the prototype of each request and response, which keeps V8 from optimizing
 * the code that uses them (docs/decisions/0013-fast-reads.md).
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
