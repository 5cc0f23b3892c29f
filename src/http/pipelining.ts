import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * How many requests may wait for earlier ones on their connections, over all connections. Each takes about
 * 5 kB, and Node reads up to 2,000 of them from a connection at once.
 */
const MAX_WAITING = 10_000;

/** Node resumes a connection after each response. */
function keepPaused(this: Socket): void {
  this.pause();
}

/**
 * Serves the requests of a connection one after the other. Node starts all pipelined requests of a client in
 * one turn of the event loop, while other clients wait. A connection is not read while its requests wait, and
 * is closed if its request exceeds the limit.
 */
export function oneAtATime(serve: Handler): Handler {
  const waitingOn = new Map<Socket, number>();
  let waiting = 0;

  function enter(socket: Socket): void {
    const count = waitingOn.get(socket) ?? 0;
    waiting += 1;
    waitingOn.set(socket, count + 1);
    if (count === 0) socket.on('resume', keepPaused).pause();
  }

  function leave(socket: Socket): void {
    const left = (waitingOn.get(socket) ?? 1) - 1;
    waiting -= 1;
    if (left > 0) {
      waitingOn.set(socket, left);
      return;
    }
    waitingOn.delete(socket);
    // The rest of the last request's body may not have been read yet.
    socket.off('resume', keepPaused).resume();
  }

  return (request, response) => {
    // Node assigns the socket to a response after all earlier responses were sent.
    if (response.socket) {
      serve(request, response);
      return;
    }
    const { socket } = request;
    if (waiting >= MAX_WAITING) {
      socket.destroy();
      return;
    }
    enter(socket);
    const giveUp = (): void => leave(socket);
    request.once('close', giveUp);
    response.once('socket', () => {
      request.off('close', giveUp);
      leave(socket);
      // Lets other connections run in between.
      setImmediate(serve, request, response);
    });
  };
}
