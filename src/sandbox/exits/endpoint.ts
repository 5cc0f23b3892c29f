import type { Server } from 'node:net';

/** Why a login may not use the proxy, or null when it may. */
export type FindRefusal = (login: string, password: string) => string | null;

/** A proxy server that is not listening yet. */
export interface Endpoint {
  readonly server: Server;
  /** Also ends the connections that are open through it. */
  close(): Promise<void>;
}
