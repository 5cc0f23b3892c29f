import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

const LINGER_MS = 1500;

/** Waits before destroying a connection, because an immediate reset could lose the last response. */
export function endSoon(socket: Duplex, isNeeded: () => boolean = () => false): void {
  setTimeout(() => {
    if (!isNeeded()) socket.destroy();
  }, LINGER_MS).unref();
}

/** Closes the connection unless the client soon finishes sending its request. */
export function endUnlessComplete(request: IncomingMessage): void {
  if (request.complete || request.socket.destroyed) return;
  endSoon(request.socket, () => request.complete);
}
