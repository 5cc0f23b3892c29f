import type { Server } from 'node:net';

/** Gives the reason why a login may not use the proxy, or null when it may. */
export type FindRefusal = (login: string, password: string) => string | null;

/** A proxy server that is not listening yet. */
export interface Endpoint {
  readonly server: Server;
  /** Also closes the connections through it. */
  close(): Promise<void>;
}
