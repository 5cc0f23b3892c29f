import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ConcurrencyLimit } from '../common';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Bounds the memory of pipelined requests: each takes about 5 kB. */
const MAX_WAITING = 10_000;

/** Pauses a connection again if Node resumes it after a response. */
function keepPaused(this: Socket): void {
  this.pause();
}

/** Serves a connection's requests one after the other. Node would start pipelined ones immediately. */
export function oneAtATime(serve: Handler, maxWaiting = MAX_WAITING): Handler {
  const waiting = new ConcurrencyLimit<Socket>(maxWaiting, maxWaiting);

  return (request, response) => {
    // Node assigns the socket to a response once all earlier responses have been sent.
    if (response.socket) {
      serve(request, response);
      return;
    }
    const { socket } = request;
    const end = waiting.enter(socket);
    if (!end) {
      socket.destroy();
      return;
    }
    if (waiting.of(socket) === 1) socket.on('resume', keepPaused).pause();
    const leave = (): void => {
      end();
      // Resume reading, because the last request's body may be incomplete.
      if (waiting.of(socket) === 0) socket.off('resume', keepPaused).resume();
    };
    request.once('close', leave);
    response.once('socket', () => {
      request.off('close', leave);
      leave();
      // Let requests of other connections run first.
      setImmediate(serve, request, response);
    });
  };
}
