import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { hasErrorCode } from './system-error';

/**
 * Listens on the first free port of the list and returns its number; 0 means any free port.
 *
 * @throws the error of the last port when none is free
 */
export async function listenOnFirstFree(
  server: Server,
  host: string,
  ports: readonly number[],
): Promise<number> {
  for (const [index, port] of ports.entries()) {
    try {
      server.listen(port, host);
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    } catch (error) {
      const isLast = index === ports.length - 1;
      if (isLast || !hasErrorCode(error, 'EADDRINUSE')) throw error;
    }
  }
  throw new RangeError('No port to listen on was given');
}

/** Stops listening; resolves at once when the server does not listen. */
export function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
