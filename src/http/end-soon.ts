import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** Milliseconds after a response during which the rest of the request is discarded. */
const LINGER_MS = 1500;

/** Destroys a connection a moment after its last response, which an immediate reset could lose. */
export function endSoon(socket: Duplex, isNeeded: () => boolean = () => false): void {
  setTimeout(() => {
    if (!isNeeded()) socket.destroy();
  }, LINGER_MS).unref();
}

/** After a response, gives the client a moment to send the rest of its request, which Node discards. */
export function endUnlessComplete(request: IncomingMessage): void {
  if (request.complete || request.socket.destroyed) return;
  endSoon(request.socket, () => request.complete);
}
