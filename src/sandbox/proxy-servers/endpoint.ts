import type { Server, Socket } from 'node:net';
import { stopListening } from '../system';

/** Returns why a login may not use the proxy; null if it may. */
export type FindRefusal = (login: string, password: string) => string | null;

/**
 * Faults of a proxy. `hang` never responds. `unreachable` reports that no target is reachable.
 * `forwarded-for` reveals the client to targets (only in plain requests through HTTP proxies). `elsewhere`
 * uses another exit address (Linux only).
 */
export const PROXY_FAULTS = ['hang', 'close', 'unreachable', 'forwarded-for', 'elsewhere'] as const;
export type ProxyFault = (typeof PROXY_FAULTS)[number];

/** Returns the fault of the proxy that has this login. */
export type FindFault = (login: string) => ProxyFault | undefined;

/** Wrong exit address. The right one is 127.0.0.1. */
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
    /** Closes the server and its connections. */
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await stopListening(server);
    },
  };
}
