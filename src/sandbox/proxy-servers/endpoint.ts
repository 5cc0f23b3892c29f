import type { Server, Socket } from 'node:net';
import { stopListening } from '../system';

/** Returns the reason why a login may not use the proxy, or null when it may. */
export type FindRefusal = (login: string, password: string) => string | null;

/**
 * Faults of a proxy: it never responds; closes the connection; reports that it reaches no target; reveals the
 * client to targets (only plain requests of HTTP proxies); or uses another exit address (only on Linux).
 */
export const PROXY_FAULTS = ['hang', 'close', 'unreachable', 'forwarded-for', 'elsewhere'] as const;
export type ProxyFault = (typeof PROXY_FAULTS)[number];

/** Returns the fault of a login's proxy. */
export type FindFault = (login: string) => ProxyFault | undefined;

/** Wrong exit address of a proxy that should use 127.0.0.1. */
export const ELSEWHERE = '127.0.0.2';

/** A proxy server that is not listening yet. */
export type Endpoint = ReturnType<typeof endpointOf>;

export function endpointOf(server: Server) {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => undefined);
  });
  return {
    server,
    /** Closes the server, and all connections through it. */
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await stopListening(server);
    },
  };
}
