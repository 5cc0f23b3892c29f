import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Response } from 'express';
import { Connections } from './connections';
import { oneAtATime } from './pipelining';

/** The prototypes that Express gives to requests and responses. Express publishes no types for them. */
interface Prototypes {
  readonly request: object;
  readonly response: object;
}

/** Idle connections that are kept alive are ended this often while the server closes. */
const CLOSE_IDLE_MS = 50;
/** How late a request that does not arrive may be refused. Node's own 30 s would double its time limits. */
const CHECK_ARRIVAL_MS = 500;

/**
 * Nest on Express, two to three times as fast for small answers. Express replaces the prototype of every
 * request and response it receives. V8 cannot optimise code that uses such objects, and that includes Node's
 * own HTTP code. Here Node creates requests and responses with Express's prototypes from the start, so that
 * Express has nothing left to replace.
 */
export class HttpAdapter extends ExpressAdapter {
  private closing: Promise<void> | undefined;
  private keepsNone = false;
  private readonly pages: (() => void)[] = [];
  private readonly connections = new Connections();

  /** @param graceMs how long requests in progress may take once the server closes: a download may stall */
  constructor(private readonly graceMs: number) {
    super();
  }

  /** Ignores Nest's options for a server: the service uses none of them. */
  override initHttpServer(): void {
    const { request, response } = this.getInstance<Prototypes>();
    this.httpServer = createServer(
      {
        IncomingMessage: withPrototype(IncomingMessage, request),
        ServerResponse: withPrototype(ServerResponse, response),
        connectionsCheckingInterval: CHECK_ARRIVAL_MS,
      },
      oneAtATime(this.getInstance()),
    );
    this.connections.follow(this.httpServer);
  }

  /**
   * Adds pages behind all routes of the controllers. The router tries one route after the other, and what is
   * rarely asked for should not cost every request.
   */
  addPages(add: () => void): void {
    this.pages.push(add);
  }

  /** Nest calls this once it has added the routes of all controllers. */
  override setNotFoundHandler(...parameters: Parameters<ExpressAdapter['setNotFoundHandler']>): unknown {
    for (const add of this.pages) add();
    return super.setNotFoundHandler(...parameters);
  }

  /** Writes JSON as Express does, without asking for its settings, charsets and a tag that is not there. */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    const isOrdinary =
      typeof body === 'object' &&
      body !== null &&
      !(body instanceof StreamableFile || body instanceof Error) &&
      !response.hasHeader('Content-Type') &&
      !response.hasHeader('ETag');
    if (!isOrdinary) return super.reply(response, body, statusCode);
    if (statusCode !== undefined) response.status(statusCode);
    const text = JSON.stringify(body);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', Buffer.byteLength(text));
    return response.end(response.req.method === 'HEAD' ? undefined : text);
  }

  /** Bounds the connections of each address from now on. */
  boundAddresses(most: number): void {
    this.connections.mostOfAddress = most;
  }

  /** From now on every answer is the last of its connection: clients are to turn to another replica. */
  keepNoConnections(): void {
    if (this.keepsNone) return;
    this.keepsNone = true;
    const server: Server = this.httpServer;
    server.prependListener('request', (_request, response: ServerResponse) => {
      response.shouldKeepAlive = false;
    });
  }

  /** Takes no more connections, and waits for the requests in progress. May be called more than once. */
  override close(): Promise<void> {
    this.closing ??= new Promise((resolve) => {
      const server: Server = this.httpServer;
      this.keepNoConnections();
      const closeForgotten = this.connections.forgotten();
      const idle = setInterval(() => {
        server.closeIdleConnections();
        closeForgotten();
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
 * Copies a constructor, with another prototype. `Reflect.construct` would make the objects slow again. The
 * original stands above the copy because V8 counts the fields to reserve space for in a constructor and in
 * those above it: objects that grow field by field are moved a dozen times.
 */
function withPrototype<Constructor extends typeof IncomingMessage | typeof ServerResponse>(
  constructor: Constructor,
  prototype: object,
): Constructor {
  function Message(this: object, ...parameters: unknown[]): void {
    Reflect.apply(constructor, this, parameters);
  }
  Message.prototype = prototype;
  Object.setPrototypeOf(Message, constructor);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Message as unknown as Constructor;
}
