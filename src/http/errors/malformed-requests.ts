import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { chooseRequestId } from '../../common';
import { statusText } from './status-text';

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const STATUS_BY_CODE = new Map([
  ['HPE_HEADER_OVERFLOW', 431],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 413],
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
]);

/**
 * Answers requests that are not valid HTTP in the form of all other answers. Node reports an error in the
 * middle of an exchange here as well; that one is answered only if no answer has begun.
 */
export function answerMalformedRequests(server: Server): void {
  const exchanges = new WeakMap<Duplex, Exchange[]>();

  const openOn = (socket: Duplex): Exchange[] =>
    (exchanges.get(socket) ?? []).filter(
      ({ request, response }) => !request.complete || !response.writableFinished,
    );

  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    exchanges.set(request.socket, [...openOn(request.socket), { request, response }]);
  });

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const open = openOn(socket);
    const begun = open.length > 1 || open.some(({ response }) => response.headersSent);
    if (!socket.writable || error.code === 'ECONNRESET' || begun) {
      socket.destroy();
      return;
    }
    const id = open[0]?.response.getHeader('X-Request-Id');
    socket.end(
      rawAnswer(STATUS_BY_CODE.get(error.code ?? '') ?? 400, String(id ?? chooseRequestId(undefined))),
    );
  });
}

function rawAnswer(status: number, requestId: string): string {
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
