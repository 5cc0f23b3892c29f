import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** Time after a response in which the remaining request is discarded, in milliseconds. */
const LINGER_MS = 1500;

/** Destroys a connection a moment after its last response. An immediate reset could lose the response. */
export function endSoon(socket: Duplex, isNeeded: () => boolean = () => false): void {
  setTimeout(() => {
    if (!isNeeded()) socket.destroy();
  }, LINGER_MS).unref();
}

/** Gives a client a moment to send the remaining request after its response. Node discards it. */
export function endUnlessComplete(request: IncomingMessage): void {
  if (request.complete || request.socket.destroyed) return;
  endSoon(request.socket, () => request.complete);
}
