import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Response } from 'express';
import { oneAtATime } from './pipelining';

/** The prototypes that Express gives to requests and responses. Express publishes no types for them. */
interface Prototypes {
  readonly request: object;
  readonly response: object;
}

/** Idle connections that are kept alive are ended this often while the server closes. */
const CLOSE_IDLE_MS = 50;
/** A connection without a request, on which nothing has come for so long, is idle. */
const SILENT_MS = 1000;

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
  /** The connections of the server, with the number of their requests in progress. */
  private readonly connections = new Map<Socket, number>();

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
      },
      oneAtATime(this.getInstance()),
    );
    this.countRequests(this.httpServer);
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
      const closeForgotten = this.forgottenConnections();
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

  private countRequests(server: Server): void {
    const { connections } = this;
    const add = (socket: Socket, more: number): void => {
      const requests = connections.get(socket);
      if (requests !== undefined) connections.set(socket, requests + more);
    };
    server.on('connection', (socket) => {
      connections.set(socket, 0);
      socket.once('close', () => connections.delete(socket));
    });
    server.prependListener('request', ({ socket }, response: ServerResponse) => {
      add(socket, 1);
      response.once('close', () => add(socket, -1));
    });
  }

  /**
   * Node closes no connection that has the parser of an earlier one whose client left in the middle of a
   * request: it takes it for busy, and the server would wait for the client (seen with Node 20.20).
   *
   * @returns closes those that have been silent since an earlier call
   */
  private forgottenConnections(): () => void {
    const heard = new Map<Socket, { readonly bytes: number; readonly atMs: number }>();
    return () => {
      const nowMs = performance.now();
      for (const [socket, requests] of this.connections) {
        const last = heard.get(socket);
        if (requests > 0 || last?.bytes !== socket.bytesRead) {
          heard.set(socket, { bytes: socket.bytesRead, atMs: nowMs });
        } else if (nowMs - last.atMs > SILENT_MS) {
          socket.destroy();
        }
      }
    };
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
