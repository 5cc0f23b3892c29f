import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { chooseRequestId } from '../../common';
import type { Metrics } from '../../metrics';
import { endSoon } from '../end-soon';
import { countMalformedRequest } from '../request-metrics';
import { statusText } from './error.filter';

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The connection's previous exchange, if it was still open when this one began. */
  before: Exchange | undefined;
}

const isOpen = ({ request, response }: Exchange): boolean => !request.complete || !response.writableFinished;

const STATUS_BY_CODE = new Map([
  ['HPE_HEADER_OVERFLOW', 431],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 413],
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
]);

/** Responds to malformed HTTP in the same format as other errors, unless a response has already started. */
export function respondToMalformedRequests(server: Server, metrics: Metrics): void {
  /** The last exchange of each connection. Exchanges on the same connection end in order. */
  const exchanges = new WeakMap<Duplex, Exchange>();

  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const before = exchanges.get(request.socket);
    if (before) before.before = undefined;
    exchanges.set(request.socket, {
      request,
      response,
      before: before && isOpen(before) ? before : undefined,
    });
  });

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const last = exchanges.get(socket);
    const open = last && isOpen(last) ? last : undefined;
    const begun = open && (open.response.headersSent || (open.before && isOpen(open.before)));
    if (!socket.writable || error.code === 'ECONNRESET' || begun) {
      socket.destroy();
      return;
    }
    const id = open?.response.getHeader('X-Request-Id');
    const status = STATUS_BY_CODE.get(error.code ?? '') ?? 400;
    // A request that is in progress will be counted when it ends.
    if (!open) countMalformedRequest(metrics, status);
    // Stop reading after a 408: the rest of the request would come too late.
    if (status === 408) socket.pause().once('finish', () => socket.destroy());
    socket.end(rawResponse(status, String(id ?? chooseRequestId(undefined))));
    endSoon(socket);
  });
}

function rawResponse(status: number, requestId: string): string {
  const body = JSON.stringify({ detail: statusText(status) });
  return [
    `HTTP/1.1 ${status} ${statusText(status)}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
