import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** Time in which the rest of a request is received and discarded after its response, in milliseconds. */
const LINGER_MS = 1500;

/**
 * Destroys a connection a moment after its last response, even if the client keeps its end open. Destroying
 * it at once would reset it while the client still sends, and the client might lose the response.
 */
export function endSoon(socket: Duplex, isNeeded: () => boolean = () => false): void {
  setTimeout(() => {
    if (!isNeeded()) socket.destroy();
  }, LINGER_MS).unref();
}

/**
 * Gives a client that received its response a moment to send the rest of its request, which Node discards.
 */
export function endUnlessComplete(request: IncomingMessage): void {
  if (request.complete || request.socket.destroyed) return;
  endSoon(request.socket, () => request.complete);
}
