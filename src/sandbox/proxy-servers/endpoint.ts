import type { Server, Socket } from 'node:net';
import { stopListening } from '../system';

/** Returns an error message if the login may not use the proxy, otherwise null. */
export type FindRefusal = (login: string, password: string) => string | null;

/**
 * `unreachable` reports that no target is reachable. `forwarded-for` reveals the client's address to targets
 * of plain HTTP requests. `elsewhere` uses another exit address (Linux only).
 */
export const PROXY_FAULTS = ['hang', 'close', 'unreachable', 'forwarded-for', 'elsewhere'] as const;
export type ProxyFault = (typeof PROXY_FAULTS)[number];

export type FindFault = (login: string) => ProxyFault | undefined;

/** The right exit address is 127.0.0.1. */
export const WRONG_EXIT_ADDRESS = '127.0.0.2';

export type Endpoint = ReturnType<typeof endpointOf>;

export function endpointOf(server: Server) {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => undefined);
  });
  return {
    server,
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await stopListening(server);
    },
  };
}
